// The modes and gates of the bench.

import type { Variant } from './rule-variants.ts'

// native-copy: the native engine without splice; haproxy-1m: HAProxy with pipes of 1 MiB; floor-...: a bare relay.
export type Forwarder =
  | 'direct'
  | 'native'
  | 'native-copy'
  | 'portable'
  | 'haproxy'
  | 'haproxy-1m'
  | 'nginx'
  | (typeof floors)[number]
export const floors = ['floor-epoll', 'floor-io_uring'] as const
export const ours = ['native', 'native-copy', 'portable'] as const satisfies readonly Forwarder[]

/** Returns whether to count system calls and instructions of the mode, too. */
export const isCounted = ({ load, connections }: Mode): boolean =>
  /^(connect|exchange)/.test(load) && connections === undefined

export interface Mode {
  /** The rule of the native engine that carries the load. No other forwarder carries it. */
  readonly variant?: Variant
  readonly protocol: 'tcp' | 'udp'
  readonly load: string // arguments of the load tool
  readonly metrics: readonly string[]
  /** Number of connections that the mode keeps open. Such a mode is slow and no gate tests its rates, so few rounds suffice. */
  readonly connections?: number
  /** The bare relays carry the mode, too. */
  readonly hasFloor?: true
  /** The mode takes a minute, so it has one round. */
  readonly isLong?: true
  /** The mode takes seconds, so it has few rounds. */
  readonly isRare?: true
}

const cpuEach = 'cpu_us_each'
const exchange = ['per_s', 'p50_us', 'p99_us', cpuEach, 'failed']
const beside = [...exchange, 'beside_gib_per_s']
const datagrams = ['per_s', 'loss_pct', cpuEach]
const bulk = ['gib_per_s', 'cpu_s_per_gib']

export const modes: Readonly<Record<string, Mode>> = {
  'bulk-in-8': { protocol: 'tcp', load: 'bulk --dir in --streams 8', metrics: bulk },
  'bulk-out-8': { protocol: 'tcp', load: 'bulk --dir out --streams 8', metrics: bulk },
  'bulk-beside-trickle': { protocol: 'tcp', load: 'bulk --dir in --streams 8 --beside 1', metrics: bulk },
  'exchange-200k-8': { protocol: 'tcp', load: 'exchange --conc 8 --size 200000', metrics: exchange },
  'connect-64': { protocol: 'tcp', load: 'connect --conc 64', metrics: exchange, hasFloor: true },
  'exchange-64b-64': { protocol: 'tcp', load: 'exchange --conc 64', metrics: exchange, hasFloor: true },
  'udp-64b-1': { protocol: 'udp', load: 'udp --echo yes --size 64', metrics: datagrams },
  'udp-1200b-1': { protocol: 'udp', load: 'udp --echo yes --size 1200', metrics: datagrams },
  'udp-64b-1000': { protocol: 'udp', load: 'udp --echo yes --size 64 --flows 1000', metrics: datagrams },
  'udp-1200b-1000': { protocol: 'udp', load: 'udp --echo yes --size 1200 --flows 1000', metrics: datagrams },
  'udp-flood': { protocol: 'udp', load: 'udp --size 64', metrics: datagrams },
  'udp-100k-1000': { protocol: 'udp', load: 'udp --rate 100000 --flows 1000', metrics: datagrams },
  'quiet-16': { protocol: 'tcp', load: 'exchange --conc 16', metrics: exchange },
  'beside-bulk-16': { protocol: 'tcp', load: 'exchange --conc 16 --beside 1', metrics: beside },
  'beside-2-bulks-16': { protocol: 'tcp', load: 'exchange --conc 16 --beside 2', metrics: beside },
  'udp-quiet-16': { protocol: 'udp', load: 'udp-exchange --flows 16', metrics: exchange },
  'udp-beside-bulk-16': { protocol: 'udp', load: 'udp-exchange --flows 16 --beside 1', metrics: beside },
  unread: { protocol: 'tcp', load: 'unread', metrics: ['arrived_bytes'], isRare: true },
  exhausted: {
    protocol: 'tcp',
    load: 'exhausted --conc 16',
    metrics: ['quiet_p50_us', ...exchange],
    isRare: true
  },
  ...Object.fromEntries(
    (
      [
        ['other-ports', 'other ports'],
        ['equal-ports', 'equal ports'],
        ['literal', 'literal'],
        ['name', 'name'],
        ['1-rule', '1 rule'],
        ['100-rules', '100 rules'],
        ['10000-rules', '10,000 rules']
      ] as const
    ).map(([name, variant]): [string, Mode] => [
      `connect-64-${name}`,
      { protocol: 'tcp', load: 'connect --conc 64', metrics: exchange, variant }
    ])
  ),
  storm: { protocol: 'tcp', load: 'connect --conc 1000', metrics: exchange },
  idle: {
    protocol: 'tcp',
    load: 'idle --busy 500',
    metrics: ['connections', 'bytes_each', 'idle_cores', 'per_s', 'p99_us', 'failed'],
    connections: 9_000
  },
  'target-never-reads': {
    protocol: 'tcp',
    load: 'stall --dir in --conc 16',
    metrics: [
      'connections',
      'accepted_bytes_each',
      'bytes_each',
      'growth_bytes',
      'quiet_p99_us',
      'p99_us',
      'failed'
    ],
    connections: 25 // each with up to 15 MB in system buffers
  },
  'caller-never-reads': {
    protocol: 'tcp',
    load: 'stall --dir out --conc 16',
    metrics: ['connections', 'bytes_each', 'growth_bytes', 'quiet_p99_us', 'p99_us', 'failed'],
    connections: 25 // each with up to 15 MB in system buffers
  },
  'sender-stopped': {
    protocol: 'tcp',
    load: 'stopped --conc 16 --pause 60',
    metrics: ['connections', 'growth_bytes', 'descriptor_growth', 'quiet_p99_us', 'p99_us', 'intact'],
    connections: 8,
    isLong: true
  }
}

export interface Gate {
  readonly title: string
  readonly mode: string
  readonly metric: string
  /**
   * The divisor of our value, from the same round: another forwarder's value, or our own of another mode or metric.
   * Null: the value itself.
   */
  readonly baseline:
    | { readonly forwarder: Forwarder }
    | { readonly mode: string }
    | { readonly metric: string }
    | null
  readonly atMost?: number
  readonly atLeast?: number
}

const [haproxy, haproxyLarge, nginx] = (['haproxy', 'haproxy-1m', 'nginx'] as const).map(forwarder => ({
  forwarder
})) as [{ forwarder: Forwarder }, { forwarder: Forwarder }, { forwarder: Forwarder }] // one object per name

export const gates: readonly Gate[] = [
  ...['bulk-in-8', 'bulk-out-8'].flatMap((mode): Gate[] => {
    const title = `8 streams ${mode === 'bulk-in-8' ? 'in' : 'out'}`
    return [
      { title: `${title}, CPU per GiB`, mode, metric: 'cpu_s_per_gib', baseline: haproxyLarge, atMost: 1 },
      { title: `${title}, CPU per GiB`, mode, metric: 'cpu_s_per_gib', baseline: haproxy, atMost: 0.7 },
      { title: `${title}, GiB/s`, mode, metric: 'gib_per_s', baseline: haproxyLarge, atLeast: 1.15 }
    ]
  }),
  { title: '200 KB exchanges, CPU', mode: 'exchange-200k-8', metric: cpuEach, baseline: haproxy, atMost: 1 },
  { title: 'connect, 64 B, close; CPU', mode: 'connect-64', metric: cpuEach, baseline: nginx, atMost: 0.85 },
  { title: 'connections per second', mode: 'connect-64', metric: 'per_s', baseline: nginx, atLeast: 1.15 },
  { title: 'connections per second', mode: 'connect-64', metric: 'per_s', baseline: haproxy, atLeast: 1.15 },
  { title: '64 B round trips, CPU', mode: 'exchange-64b-64', metric: cpuEach, baseline: nginx, atMost: 0.9 },
  {
    title: 'round trips per second',
    mode: 'exchange-64b-64',
    metric: 'per_s',
    baseline: haproxy,
    atLeast: 1.3
  },
  { title: 'round trips, p99', mode: 'exchange-64b-64', metric: 'p99_us', baseline: haproxy, atMost: 0.85 },
  {
    title: 'equal listen and target ports, CPU',
    mode: 'connect-64-equal-ports',
    metric: cpuEach,
    baseline: { mode: 'connect-64-other-ports' },
    atMost: 1.02
  },
  {
    title: 'target with a host name, CPU',
    mode: 'connect-64-name',
    metric: cpuEach,
    baseline: { mode: 'connect-64-literal' },
    atMost: 1.05
  },
  {
    title: 'p50 beside a rule without free local ports',
    mode: 'exhausted',
    metric: 'p50_us',
    baseline: { metric: 'quiet_p50_us' },
    atMost: 2
  },
  {
    title: 'bytes delivered from a target that closes with unread input',
    mode: 'unread',
    metric: 'arrived_bytes',
    baseline: null,
    atLeast: 2_000_000
  },
  {
    title: 'idle connection, bytes of memory',
    mode: 'idle',
    metric: 'bytes_each',
    baseline: null,
    atMost: 700
  },
  { title: 'UDP 64 B, 1 flow, CPU', mode: 'udp-64b-1', metric: cpuEach, baseline: nginx, atMost: 0.45 },
  { title: 'UDP 1200 B, 1 flow, CPU', mode: 'udp-1200b-1', metric: cpuEach, baseline: nginx, atMost: 0.5 },
  { title: 'UDP 64 B, 1000 flows, CPU', mode: 'udp-64b-1000', metric: cpuEach, baseline: nginx, atMost: 0.5 },
  {
    title: 'UDP 1200 B, 1000 flows, CPU',
    mode: 'udp-1200b-1000',
    metric: cpuEach,
    baseline: nginx,
    atMost: 0.5
  },
  { title: 'UDP echoes per second', mode: 'udp-64b-1', metric: 'per_s', baseline: nginx, atLeast: 1.6 },
  {
    title: 'UDP flood, delivered per second',
    mode: 'udp-flood',
    metric: 'per_s',
    baseline: nginx,
    atLeast: 2.5
  },
  { title: 'UDP loss in %, 100,000/s', mode: 'udp-100k-1000', metric: 'loss_pct', baseline: null, atMost: 0 },
  {
    title: 'p99 beside a bulk transfer',
    mode: 'beside-bulk-16',
    metric: 'p99_us',
    baseline: { mode: 'quiet-16' },
    atMost: 3
  },
  {
    title: 'p99 of datagrams beside a bulk transfer',
    mode: 'udp-beside-bulk-16',
    metric: 'p99_us',
    baseline: { mode: 'udp-quiet-16' },
    atMost: 3
  },
  {
    title: 'bulk beside a message every 20 ms, CPU per GiB',
    mode: 'bulk-beside-trickle',
    metric: 'cpu_s_per_gib',
    baseline: { mode: 'bulk-in-8' },
    atMost: 1.2
  },
  ...(
    [
      ['a target never reads', 'target-never-reads', 2 ** 20],
      ['a caller never reads', 'caller-never-reads', 2 ** 20],
      ['a sender is stopped for a minute', 'sender-stopped', 2 ** 24] // the heap of the agent's Node varies within a minute
    ] as const
  ).flatMap(([situation, mode, atMost]): Gate[] => [
    { title: `growth while ${situation}, bytes`, mode, metric: 'growth_bytes', baseline: null, atMost },
    {
      title: `p99 while ${situation}`,
      mode,
      metric: 'p99_us',
      baseline: { metric: 'quiet_p99_us' },
      atMost: 3
    }
  ]),
  {
    title: 'additional descriptors after a stop',
    mode: 'sender-stopped',
    metric: 'descriptor_growth',
    baseline: null,
    atMost: 0
  },
  {
    title: 'all bytes arrive intact after a stop',
    mode: 'sender-stopped',
    metric: 'intact',
    baseline: null,
    atLeast: 1
  },
  { title: 'failures in a storm of 1,000', mode: 'storm', metric: 'failed', baseline: null, atMost: 0 },
  { title: 'failures beside open connections', mode: 'idle', metric: 'failed', baseline: null, atMost: 0 }
]
