"""A small U-Net for segmentation: two levels down, two up, skip connections by concatenation."""

import torch
from torch import nn
from torch.nn import functional as F


def conv_block(channels_in, channels):
    return nn.Sequential(
        nn.Conv2d(channels_in, channels, 3, padding=1),
        nn.GroupNorm(8, channels),
        nn.SiLU(),
        nn.Conv2d(channels, channels, 3, padding=1),
        nn.GroupNorm(8, channels),
        nn.SiLU(),
    )


class UNet(nn.Module):
    def __init__(self, channels=3, classes=2, width=16):
        super().__init__()
        self.down1 = conv_block(channels, width)
        self.down2 = conv_block(width, 2 * width)
        self.bottom = conv_block(2 * width, 4 * width)
        self.up2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2)
        self.merge2 = conv_block(4 * width, 2 * width)
        self.merge1 = conv_block(3 * width, width)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, image):
        skip1 = self.down1(image)
        skip2 = self.down2(F.max_pool2d(skip1, 2))
        x = self.bottom(F.max_pool2d(skip2, 2))
        x = self.merge2(torch.cat([self.up2(x), skip2], dim=1))
        x = F.interpolate(x, size=skip1.shape[-2:], mode="bilinear", align_corners=False)
        x = self.merge1(torch.cat([x, skip1], dim=1))
        return self.head(x)


example_inputs = (torch.rand(1, 3, 64, 64),)
