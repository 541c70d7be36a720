"""From the aten graph to scheduled kernels: `lower`, then `schedule` (fusion, layout, memory)."""

from ptc.schedule.lower import lower
from ptc.schedule.passes import Options, schedule

__all__ = ["Options", "lower", "schedule"]
