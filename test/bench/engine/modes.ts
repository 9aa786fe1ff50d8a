// What is measured, and what must be reached: as data.

export type Forwarder = 'direct' | 'native' | 'native-copy' | 'portable' | 'haproxy' | 'haproxy-1m' | 'nginx'
export const ours = ['native', 'native-copy', 'portable'] as const satisfies readonly Forwarder[]

export interface Mode {
  readonly protocol: 'tcp' | 'udp'
  readonly load: string // arguments of the load tool
  readonly figures: readonly string[]
  /** Connections that it would like to hold; it takes long, and its figures are no rates: few rounds are enough. */
  readonly holds?: number
  /** Takes a minute: one round. */
  readonly isLong?: true
}

const cpuEach = 'cpu_us_each'
const exchange = ['per_s', 'p50_us', 'p99_us', cpuEach, 'failed']
const beside = [...exchange, 'beside_gib_per_s']
const datagrams = ['per_s', 'loss_pct', cpuEach]
const bulk = ['gib_per_s', 'cpu_s_per_gib']

export const modes: Readonly<Record<string, Mode>> = {
  'bulk-up-8': { protocol: 'tcp', load: 'bulk --dir up --streams 8', figures: bulk },
  'bulk-down-8': { protocol: 'tcp', load: 'bulk --dir down --streams 8', figures: bulk },
  'bulk-beside-little': { protocol: 'tcp', load: 'bulk --dir up --streams 8 --beside 1', figures: bulk },
  'exchange-200k-8': { protocol: 'tcp', load: 'exchange --conc 8 --size 200000', figures: exchange },
  'connect-64': { protocol: 'tcp', load: 'connect --conc 64', figures: exchange },
  'exchange-64b-64': { protocol: 'tcp', load: 'exchange --conc 64', figures: exchange },
  'udp-64b-1': { protocol: 'udp', load: 'udp --echo yes --size 64', figures: datagrams },
  'udp-1200b-1': { protocol: 'udp', load: 'udp --echo yes --size 1200', figures: datagrams },
  'udp-64b-1000': { protocol: 'udp', load: 'udp --echo yes --size 64 --flows 1000', figures: datagrams },
  'udp-1200b-1000': { protocol: 'udp', load: 'udp --echo yes --size 1200 --flows 1000', figures: datagrams },
  'udp-flood': { protocol: 'udp', load: 'udp --size 64', figures: datagrams },
  'udp-100k-1000': { protocol: 'udp', load: 'udp --rate 100000 --flows 1000', figures: datagrams },
  'quiet-16': { protocol: 'tcp', load: 'exchange --conc 16', figures: exchange },
  'beside-bulk-16': { protocol: 'tcp', load: 'exchange --conc 16 --beside 1', figures: beside },
  'beside-2-bulks-16': { protocol: 'tcp', load: 'exchange --conc 16 --beside 2', figures: beside },
  'udp-quiet-16': { protocol: 'udp', load: 'udp-exchange --flows 16', figures: exchange },
  'udp-beside-bulk-16': { protocol: 'udp', load: 'udp-exchange --flows 16 --beside 1', figures: beside },
  storm: { protocol: 'tcp', load: 'connect --conc 1000', figures: exchange },
  idle: {
    protocol: 'tcp',
    load: 'idle --busy 500',
    figures: ['held', 'bytes_each', 'idle_cores', 'per_s', 'p99_us', 'failed'],
    holds: 9_000
  },
  'target-never-reads': {
    protocol: 'tcp',
    load: 'stall --dir up --conc 16',
    figures: ['held', 'taken_each', 'bytes_each', 'growth_bytes', 'quiet_p99_us', 'p99_us', 'failed'],
    holds: 100
  },
  'caller-never-reads': {
    protocol: 'tcp',
    load: 'stall --dir down --conc 16',
    figures: ['held', 'bytes_each', 'growth_bytes', 'quiet_p99_us', 'p99_us', 'failed'],
    holds: 100
  },
  'sender-stopped': {
    protocol: 'tcp',
    load: 'stopped --conc 16 --pause 60',
    figures: ['held', 'growth_bytes', 'more_descriptors', 'quiet_p99_us', 'p99_us', 'whole'],
    holds: 8,
    isLong: true
  }
}

export interface Gate {
  readonly work: string
  readonly mode: string
  readonly figure: string
  /** Whose figure ours is divided by, in the same round; null: ours as it stands. A mode, a figure: our own there. */
  readonly by:
    | { readonly forwarder: Forwarder }
    | { readonly mode: string }
    | { readonly figure: string }
    | null
  readonly atMost?: number
  readonly atLeast?: number
}

const [haproxy, haproxyLarge, nginx] = (['haproxy', 'haproxy-1m', 'nginx'] as const).map(forwarder => ({
  forwarder
})) as [{ forwarder: Forwarder }, { forwarder: Forwarder }, { forwarder: Forwarder }] // three in, three out

export const gates: readonly Gate[] = [
  ...['bulk-up-8', 'bulk-down-8'].flatMap((mode): Gate[] => {
    const work = `8 streams ${mode === 'bulk-up-8' ? 'up' : 'down'}`
    return [
      { work: `${work}, CPU per GiB`, mode, figure: 'cpu_s_per_gib', by: haproxyLarge, atMost: 1 },
      { work: `${work}, CPU per GiB`, mode, figure: 'cpu_s_per_gib', by: haproxy, atMost: 0.7 },
      { work: `${work}, GiB/s`, mode, figure: 'gib_per_s', by: haproxyLarge, atLeast: 1.15 }
    ]
  }),
  { work: '200 KB exchanges, CPU', mode: 'exchange-200k-8', figure: cpuEach, by: haproxy, atMost: 1 },
  { work: 'connect, 64 B, close; CPU', mode: 'connect-64', figure: cpuEach, by: nginx, atMost: 0.88 },
  { work: 'connections per second', mode: 'connect-64', figure: 'per_s', by: nginx, atLeast: 1.2 },
  { work: 'connections per second', mode: 'connect-64', figure: 'per_s', by: haproxy, atLeast: 1.2 },
  { work: '64 B round trips, CPU', mode: 'exchange-64b-64', figure: cpuEach, by: nginx, atMost: 0.95 },
  { work: 'round trips per second', mode: 'exchange-64b-64', figure: 'per_s', by: haproxy, atLeast: 1.3 },
  { work: 'round trips, p99', mode: 'exchange-64b-64', figure: 'p99_us', by: haproxy, atMost: 0.7 },
  { work: 'idle connection, bytes of memory', mode: 'idle', figure: 'bytes_each', by: null, atMost: 700 },
  { work: 'UDP 64 B, 1 flow, CPU', mode: 'udp-64b-1', figure: cpuEach, by: nginx, atMost: 0.45 },
  { work: 'UDP 1200 B, 1 flow, CPU', mode: 'udp-1200b-1', figure: cpuEach, by: nginx, atMost: 0.5 },
  { work: 'UDP 64 B, 1000 flows, CPU', mode: 'udp-64b-1000', figure: cpuEach, by: nginx, atMost: 0.5 },
  { work: 'UDP 1200 B, 1000 flows, CPU', mode: 'udp-1200b-1000', figure: cpuEach, by: nginx, atMost: 0.5 },
  { work: 'UDP echoes per second', mode: 'udp-64b-1', figure: 'per_s', by: nginx, atLeast: 1.6 },
  { work: 'UDP flood, delivered per second', mode: 'udp-flood', figure: 'per_s', by: nginx, atLeast: 2.5 },
  { work: 'UDP loss in %, 100,000/s', mode: 'udp-100k-1000', figure: 'loss_pct', by: null, atMost: 0 },
  {
    work: 'p99 beside a bulk transfer, by the quiet one',
    mode: 'beside-bulk-16',
    figure: 'p99_us',
    by: { mode: 'quiet-16' },
    atMost: 3
  },
  {
    work: 'p99 of datagrams beside a bulk transfer, by the quiet one',
    mode: 'udp-beside-bulk-16',
    figure: 'p99_us',
    by: { mode: 'udp-quiet-16' },
    atMost: 3
  },
  {
    work: 'bulk beside a message every 20 ms, CPU per GiB, by that alone',
    mode: 'bulk-beside-little',
    figure: 'cpu_s_per_gib',
    by: { mode: 'bulk-up-8' },
    atMost: 1.2
  },
  ...(
    [
      ['a target never reads', 'target-never-reads', 2 ** 20],
      ['a caller never reads', 'caller-never-reads', 2 ** 20],
      ['a sender is stopped for a minute', 'sender-stopped', 2 ** 24] // in a minute the heap of the agent's Node breathes
    ] as const
  ).flatMap(([what, mode, atMost]): Gate[] => [
    { work: `growth while ${what}, bytes`, mode, figure: 'growth_bytes', by: null, atMost },
    { work: `p99 while ${what}`, mode, figure: 'p99_us', by: { figure: 'quiet_p99_us' }, atMost: 3 }
  ]),
  { work: 'descriptors, the same', mode: 'sender-stopped', figure: 'more_descriptors', by: null, atMost: 0 },
  { work: 'then all arrives bit for bit', mode: 'sender-stopped', figure: 'whole', by: null, atLeast: 1 },
  { work: 'failed in a storm of 1,000', mode: 'storm', figure: 'failed', by: null, atMost: 0 },
  { work: 'failed beside held connections', mode: 'idle', figure: 'failed', by: null, atMost: 0 }
]
