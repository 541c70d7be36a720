// Inputs, outputs and sizes of a program as JSON, for hosts.
#ifndef PTC_EXECUTOR_DESCRIBE_H
#define PTC_EXECUTOR_DESCRIBE_H

#include "module.h"

namespace ptc::exec {

std::string describe(const Module& module);

}  // namespace ptc::exec

#endif
