#pragma once
// The kernel's routing interface, of which Swift's Glibc module has nothing.
// Without <linux/if.h> and <linux/if_arp.h>: they clash with <net/if.h>, which that module contains.
#include <linux/filter.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if_arp.h>
