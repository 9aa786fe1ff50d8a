// System limits that affect forwarding.
import { defineCheck, type Finding, type Host } from '../../cli/check-exports.ts'
import { numberIn } from '../host.ts'

type FindingId =
  | 'network.few_ports'
  | 'network.time_wait'
  | 'network.udp_buffers'
  | 'network.conntrack_full'
  | 'network.conntrack_small'
  | 'network.backlog'

const wantedUdpBufferBytes = 4 * 2 ** 20 // the engine requests this size

export const network = defineCheck<FindingId>({
  name: 'network',
  roles: ['agent'],
  findings: {
    'network.few_ports': {
      status: 'warn',
      when: 'fewer than 16,384 ports are available for outgoing connections, which limits the connections to one target',
      remedy: 'sysctl net.ipv4.ip_local_port_range="16384 65535"'
    },
    'network.time_wait': {
      status: 'warn',
      when: 'connections in TIME_WAIT equal at least half of the local ports: if most of them went to one target, it soon has no free port, and callers are refused with no_local_port',
      remedy: 'sysctl net.ipv4.tcp_tw_reuse=1'
    },
    'network.udp_buffers': {
      status: 'warn',
      when: 'datagrams were dropped because a buffer was full, and UDP buffers are limited to less than the 4 MiB that the engine requests',
      remedy: 'sysctl net.core.rmem_max=4194304 net.core.wmem_max=4194304, and restart the agent'
    },
    'network.conntrack_full': {
      status: 'warn',
      when: 'more than 80 % of the connection tracking table is in use; a full table drops packets',
      remedy: 'raise net.netfilter.nf_conntrack_max, or exempt the ports of rules with the target notrack'
    },
    'network.conntrack_small': {
      status: 'warn',
      when: 'the connection tracking table has fewer than 65,536 entries; a forwarded connection needs two',
      remedy: 'raise net.netfilter.nf_conntrack_max'
    },
    'network.backlog': {
      status: 'warn',
      when: 'fewer than 1,024 connections can wait to be accepted, so bursts are refused',
      remedy: 'sysctl net.core.somaxconn=4096'
    }
  },
  async run({ host }) {
    const found: Finding<FindingId>[] = []
    const range = host.read('/proc/sys/net/ipv4/ip_local_port_range')?.trim().split(/\s+/).map(Number)
    const [from = 0, to = 65_535] = range ?? []
    if (to - from + 1 < 16_384)
      found.push({ id: 'network.few_ports', message: `net.ipv4.ip_local_port_range is ${from} to ${to}` })
    found.push(...checkTimeWait(host, to - from + 1), ...checkUdpBuffers(host))
    const most = numberIn(host, '/proc/sys/net/netfilter/nf_conntrack_max')
    const used = numberIn(host, '/proc/sys/net/netfilter/nf_conntrack_count') ?? 0
    if (most !== null && used > most * 0.8)
      found.push({ id: 'network.conntrack_full', message: `${used} of ${most} entries are in use` })
    else if (most !== null && used > 0 && most < 65_536)
      found.push({ id: 'network.conntrack_small', message: `net.netfilter.nf_conntrack_max is ${most}` })
    const backlog = numberIn(host, '/proc/sys/net/core/somaxconn') ?? 4096
    if (backlog < 1024) found.push({ id: 'network.backlog', message: `net.core.somaxconn is ${backlog}` })
    return found.length > 0 ? found : [{ ok: `outgoing connections use ports ${from} to ${to}` }]
  }
})

/** Only tcp_tw_reuse=1 lets Linux reuse a port in TIME_WAIT for a target on another host (ip-sysctl). */
function checkTimeWait(host: Host, ports: number): Finding<FindingId>[] {
  const waiting = Number(/^TCP:.* tw (\d+)/m.exec(host.read('/proc/net/sockstat') ?? '')?.[1] ?? 0)
  if (numberIn(host, '/proc/sys/net/ipv4/tcp_tw_reuse') === 1 || waiting < ports / 2) return []
  return [
    {
      id: 'network.time_wait',
      message: `${waiting} connections are in TIME_WAIT, and there are ${ports} ports`
    }
  ]
}

function checkUdpBuffers(host: Host): Finding<FindingId>[] {
  const sizes = ['rmem_max', 'wmem_max'].map(
    name => numberIn(host, `/proc/sys/net/core/${name}`) ?? wantedUdpBufferBytes
  )
  const [names = [], values = []] = (host.read('/proc/net/snmp') ?? '')
    .split('\n')
    .filter(line => line.startsWith('Udp:'))
    .map(line => line.split(' '))
  const dropped = ['RcvbufErrors', 'SndbufErrors']
    .map(name => Number(values[names.indexOf(name)] ?? 0))
    .reduce((a, b) => a + b)
  if (dropped === 0 || Math.min(...sizes) >= wantedUdpBufferBytes) return []
  const limits = `net.core.rmem_max is ${sizes[0]}, wmem_max ${sizes[1]}`
  return [{ id: 'network.udp_buffers', message: `${dropped} datagrams were dropped since boot; ${limits}` }]
}
