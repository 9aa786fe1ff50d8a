// Limits of the system's network that forwarding meets.
import { defineCheck, type Finding } from '../exports.ts'
import { type Host, numberIn } from '../host.ts'

type Id =
  | 'network.few_ports'
  | 'network.time_wait'
  | 'network.udp_buffers'
  | 'network.conntrack_full'
  | 'network.conntrack_small'
  | 'network.backlog'

/** The buffer size that the engine requests. */
const udpBuffer = 4 * 2 ** 20

export const network = defineCheck<Id>({
  name: 'network',
  of: ['agent'],
  findings: {
    'network.few_ports': {
      status: 'warn',
      when: 'less than 16,384 ports are for outgoing connections: no more connections to one target are possible',
      remedy: 'sysctl net.ipv4.ip_local_port_range="16384 65535"'
    },
    'network.time_wait': {
      status: 'warn',
      when: 'half as many connections as there are local ports are in TIME_WAIT: a target to which most of them went has soon none left, and callers are refused as no_local_port',
      remedy: 'sysctl net.ipv4.tcp_tw_reuse=1'
    },
    'network.udp_buffers': {
      status: 'warn',
      when: 'datagrams were dropped because a buffer was full, and UDP sockets may have less than the 4 MiB that the engine asks for',
      remedy: 'sysctl net.core.rmem_max=4194304 net.core.wmem_max=4194304, and restart the agent'
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
    found.push(...timeWaitOf(host, to - from + 1), ...udpBuffersOf(host))
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

/** Only this setting lets a port in TIME_WAIT be used again for a target on another host (ip-sysctl). */
function timeWaitOf(host: Host, ports: number): Finding<Id>[] {
  const waiting = Number(/^TCP:.* tw (\d+)/m.exec(host.read('/proc/net/sockstat') ?? '')?.[1] ?? 0)
  if (numberIn(host, '/proc/sys/net/ipv4/tcp_tw_reuse') === 1 || waiting < ports / 2) return []
  return [{ id: 'network.time_wait', message: `${waiting} connections are in TIME_WAIT, of ${ports} ports` }]
}

function udpBuffersOf(host: Host): Finding<Id>[] {
  const sizes = ['rmem_max', 'wmem_max'].map(
    name => numberIn(host, `/proc/sys/net/core/${name}`) ?? udpBuffer
  )
  const [names = [], values = []] = (host.read('/proc/net/snmp') ?? '')
    .split('\n')
    .filter(line => line.startsWith('Udp:'))
    .map(line => line.split(' '))
  const dropped = ['RcvbufErrors', 'SndbufErrors']
    .map(name => Number(values[names.indexOf(name)] ?? 0))
    .reduce((a, b) => a + b)
  if (dropped === 0 || Math.min(...sizes) >= udpBuffer) return []
  const limits = `net.core.rmem_max is ${sizes[0]}, wmem_max ${sizes[1]}`
  return [
    { id: 'network.udp_buffers', message: `${dropped} datagrams were dropped since the start; ${limits}` }
  ]
}
