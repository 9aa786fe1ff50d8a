// Limits of the system's network that forwarding meets.
import { defineCheck, type Finding } from '../exports.ts'
import { numberIn } from '../host.ts'

type Id = 'network.few_ports' | 'network.conntrack_full' | 'network.conntrack_small' | 'network.backlog'

export const network = defineCheck<Id>({
  name: 'network',
  of: ['agent'],
  findings: {
    'network.few_ports': {
      status: 'warn',
      when: 'less than 16,384 ports are for outgoing connections: no more connections to one target are possible',
      remedy: 'sysctl net.ipv4.ip_local_port_range="16384 65535"'
    },
    'network.conntrack_full': {
      status: 'warn',
      when: 'four fifths of the table of connection tracking are in use: beyond it packets are dropped',
      remedy: 'raise net.netfilter.nf_conntrack_max, or exempt the ports of rules by the target notrack'
    },
    'network.conntrack_small': {
      status: 'warn',
      when: 'the table of connection tracking has less than 65,536 entries; a forwarded connection takes two',
      remedy: 'raise net.netfilter.nf_conntrack_max'
    },
    'network.backlog': {
      status: 'warn',
      when: 'less than 1,024 connections may wait to be accepted: bursts are refused',
      remedy: 'sysctl net.core.somaxconn=4096'
    }
  },
  async run({ host }) {
    const found: Finding<Id>[] = []
    const range = host.read('/proc/sys/net/ipv4/ip_local_port_range')?.trim().split(/\s+/).map(Number)
    const [from = 0, to = 65_535] = range ?? []
    if (to - from + 1 < 16_384)
      found.push({ id: 'network.few_ports', message: `net.ipv4.ip_local_port_range is ${from} to ${to}` })
    const most = numberIn(host, '/proc/sys/net/netfilter/nf_conntrack_max')
    const used = numberIn(host, '/proc/sys/net/netfilter/nf_conntrack_count') ?? 0
    if (most !== null && used > most * 0.8)
      found.push({ id: 'network.conntrack_full', message: `${used} of ${most} entries are in use` })
    else if (most !== null && used > 0 && most < 65_536)
      found.push({ id: 'network.conntrack_small', message: `net.netfilter.nf_conntrack_max is ${most}` })
    const backlog = numberIn(host, '/proc/sys/net/core/somaxconn') ?? 4096
    if (backlog < 1024) found.push({ id: 'network.backlog', message: `net.core.somaxconn is ${backlog}` })
    return found.length > 0 ? found : [{ ok: `outgoing connections have the ports ${from} to ${to}` }]
  }
})
