#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# scapy_icrc.py FILE.pcap - let scapy compute the ICRC of every RoCEv2 packet over IPv4 anew
#
# Prints "TOTAL n bad m". Packets without a BTH that scapy finds count as bad.
import sys

from scapy.contrib.roce import BTH
from scapy.utils import rdpcap

total = bad = 0
for packet in rdpcap(sys.argv[1]):
    total += 1
    if BTH not in packet:
        bad += 1
        continue
    wire = bytes(packet)
    packet[BTH].icrc = None
    bad += bytes(packet) != wire
print("TOTAL", total, "bad", bad)
