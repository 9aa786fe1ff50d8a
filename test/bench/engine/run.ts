// Compares the engines with other proxies: builds the load tool, starts all forwarders, measures in rotation, writes tables.
// Uses many short rounds, so that other load of the machine affects both sides of a ratio.
//   node test/bench/engine/run.ts [--rounds 100] [--hold-rounds 1] [--secs 0.3] [--threads 1] [--only mode,...] [--forwarders name,...]
//     [--out test/bench/RESULTS.md] [--network own|shared]
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { arch, availableParallelism, cpus, loadavg, release, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { TestFolder } from '../../support/test-cluster.ts'
import {
  busyOffset,
  type Forwarding,
  run,
  serverPort,
  startFloors,
  startOtherProxies,
  startOurs,
  versionOf
} from './forwarders.ts'
import { type Forwarder, floors, isCounted, type Mode, modes, ours } from './modes.ts'
import { type Counted, floorTable, gateTable, type Metrics, modeTables, type Runs } from './result-tables.ts'
import { startVariants, type Variant } from './rule-variants.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '100' },
    'hold-rounds': { type: 'string', default: '1' }, // a second round would reuse the memory of the first
    secs: { type: 'string', default: '0.3' },
    threads: { type: 'string', default: '1' },
    only: { type: 'string', default: Object.keys(modes).join() },
    forwarders: {
      type: 'string',
      default: ['direct', ...ours, 'haproxy', 'haproxy-1m', 'nginx', ...floors].join()
    },
    out: { type: 'string', default: join(import.meta.dirname, '..', 'RESULTS.md') },
    network: { type: 'string', default: 'own' }
  }
})
const tools = ['load', 'floor'] as const // each builds a program with its name
const programOf = (tool: (typeof tools)[number]) => join(import.meta.dirname, tool, 'build', tool)
const loadTool = programOf('load')

/** Reruns this script in a network namespace without other traffic. Returns false unless `--network own` is set and permitted. */
function rerunInOwnNetwork(): boolean {
  if (values.network !== 'own') return false
  const callerPorts = 'echo 10000 65000 > /proc/sys/net/ipv4/ip_local_port_range'
  const rulePorts = 'echo 19000-29999 > /proc/sys/net/ipv4/ip_local_reserved_ports'
  // Linux's defaults. With much larger ones, callers and targets that do not read exhaust the TCP memory of the system.
  const receiveBuffers = 'echo 4096 131072 6291456 > /proc/sys/net/ipv4/tcp_rmem'
  const sendBuffers = 'echo 4096 16384 4194304 > /proc/sys/net/ipv4/tcp_wmem'
  const setUp = ['ip link set lo up', callerPorts, rulePorts, receiveBuffers, sendBuffers].join(' && ')
  const allowBacklog = 'echo 8192 > /proc/sys/net/core/somaxconn'
  if (spawnSync('unshare', ['--net', 'sh', '-c', setUp]).status !== 0) return false
  const command = ['--net', 'sh', '-c', `${setUp} && ${allowBacklog} && exec "$@"`, 'sh', process.execPath]
  const args = [...process.execArgv, import.meta.filename, ...process.argv.slice(2), '--network', 'entered']
  const restore = useCubic()
  const { status } = spawnSync('unshare', [...command, ...args], { stdio: 'inherit' })
  restore()
  process.exitCode = status ?? 1
  return true
}

/**
 * Makes CUBIC, Linux's default, the congestion control of new networks, if permitted. BBR mistakes a peer that does not read
 * for a slow path, and stays at that rate for seconds (tcp_bbr.c). Returns a function that restores the setting.
 */
function useCubic(): () => void {
  const file = '/proc/sys/net/ipv4/tcp_congestion_control'
  try {
    const before = readFileSync(file, 'utf8')
    writeFileSync(file, 'cubic')
    return () => writeFileSync(file, before)
  } catch {
    return () => {} // the page shows the one in use
  }
}

const autogroups = '/proc/sys/kernel/sched_autogroup_enabled'

/**
 * Turns autogroups off (sched(7)), with which the scheduler shares CPU between sessions. Otherwise the grouping of processes
 * changes results more than the forwarder: UDP costs a third less, small exchanges beside bulk wait ten times longer.
 */
function disableAutogroups(t: TestFolder): boolean {
  try {
    const before = readFileSync(autogroups, 'utf8')
    writeFileSync(autogroups, '0')
    t.teardown(() => writeFileSync(autogroups, before))
    return true
  } catch {
    return false // not supported by this kernel, or not permitted
  }
}

/** Half of the descriptors of a process, since a forwarder needs two per connection. */
const maxConnections = Math.floor(
  (Number(execFileSync('sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' })) - 400) / 2
)

function measure(mode: Mode, { port, pid }: Forwarding, more: readonly string[] = []): Metrics | undefined {
  const args = [...mode.load.split(' '), '--to', `127.0.0.1:${port}`, '--server', `127.0.0.1:${serverPort}`]
  args.push('--pid', String(pid), '--secs', String(values.secs), ...more)
  args.push('--busy-port', String(port + busyOffset), '--target-port', String(serverPort + 1))
  if (mode.connections !== undefined) args.push('--conns', String(Math.min(mode.connections, maxConnections)))
  const { status, stdout, stderr } = spawnSync(loadTool, args, { encoding: 'utf8', timeout: 180_000 })
  if (status === 0) return JSON.parse(stdout) as Metrics
  console.error(`load ${args.join(' ')}: ${stderr.trim() || 'timed out'}`)
  return undefined
}

/** Measures all modes. Modes with many connections come first, since UDP flows stay open and use descriptors. */
function measureAll(forwardersOf: (mode: Mode) => readonly Forwarding[]): Runs {
  const runs: Record<string, Partial<Record<Forwarder, (Metrics | undefined)[]>>> = {}
  const wanted = wantedModes()
  for (const { name, mode } of wanted)
    runs[name] = Object.fromEntries(forwardersOf(mode).map(({ name }) => [name, []]))
  const rounds = Number(values.rounds)
  const holdsConnections = ({ mode }: { mode: Mode }) =>
    mode.connections !== undefined || mode.isRare === true
  const phases = [
    { count: Math.min(rounds, Number(values['hold-rounds'])), selected: wanted.filter(holdsConnections) },
    { count: rounds, selected: wanted.filter(mode => !holdsConnections(mode)) }
  ]
  for (const { count, selected } of phases)
    for (let round = 0; round < count && selected.length > 0; round++) {
      const inTurn = <T>(all: readonly T[]) => (round % 2 === 0 ? all : all.toReversed())
      for (const { name, mode } of inTurn(selected.filter(({ mode }) => round === 0 || !mode.isLong)))
        for (const forwarder of inTurn(forwardersOf(mode)))
          runs[name]?.[forwarder.name]?.push(measure(mode, forwarder))
      console.log(`round ${round + 1} of ${count}, load average ${loadavg()[0]?.toFixed(1)}`)
    }
  return runs
}

/** Counts in a separate round, since counting slows the forwarder. */
function countAll(forwardersOf: (mode: Mode) => readonly Forwarding[]): Counted {
  const counted: Record<string, Partial<Record<Forwarder, Metrics>>> = {}
  for (const { name, mode } of wantedModes().filter(({ mode }) => isCounted(mode)))
    counted[name] = Object.fromEntries(
      forwardersOf(mode)
        .filter(({ pid }) => pid !== 0)
        .map(forwarder => [forwarder.name, measure(mode, forwarder, ['--count', 'yes'])])
    )
  return counted
}

const wantedModes = () =>
  values.only.split(',').map(name => {
    const mode = modes[name]
    if (!mode) throw new Error(`unknown mode ${name}; choose from ${Object.keys(modes).join()}`)
    return { name, mode }
  })

const machine = (): string =>
  `${cpus()[0]?.model ?? 'unknown processor'}, ${availableParallelism()} cores, ` +
  `${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()} ${arch()}, Node ${process.version}`

const mebibytes = (limits: string): number => Number(limits.trim().split(/\s+/).at(-1)) / 2 ** 20

function results(runs: Runs, counted: Counted, loadBefore: number, hasNoAutogroups: boolean): string {
  const now = new Date().toISOString().replace('T', ' ').slice(0, 16)
  const network =
    values.network === 'entered'
      ? 'in a separate network namespace'
      : 'over the loopback interface of the machine'
  return `# The engines compared with other proxies

Written by \`npm run bench\` on ${now} UTC.

- Machine: ${machine()}. Load average ${loadBefore.toFixed(1)} before, ${loadavg()[0]?.toFixed(1)} after.
- Other proxies: ${[versionOf('haproxy'), versionOf('nginx')].filter(Boolean).join('; ') || 'none installed'}.
- Command: \`node test/bench/engine/run.ts ${process.argv.slice(2).join(' ').replace(' --network entered', '')}\`;
  ${values.rounds} rounds of ${values.secs} s (modes with many connections: at most ${values['hold-rounds']}), in alternating order,
  ${network}; ours on ${values.threads} thread(s) with all meters and counters on, the others on one thread.
- TCP: congestion control ${readFileSync('/proc/sys/net/ipv4/tcp_congestion_control', 'utf8').trim()}, buffers of at most
  ${['r', 'w'].map(way => mebibytes(readFileSync(`/proc/sys/net/ipv4/tcp_${way}mem`, 'utf8'))).join(' (receive) and ')} MiB (send).
- ${hasNoAutogroups ? 'Scheduler autogroups are off.' : 'Scheduler autogroups are unchanged.'}
- CPU time covers the whole process tree of the forwarder, including our agent's Node.
- native: the C++ engine; native-copy: the same without splice; portable: the engine in Node.
- \`haproxy\` splices with default pipes, \`haproxy-1m\` with pipes of 1 MiB.
- floor-epoll, floor-io_uring: bare relays without rules, meters, limits, timers or counters (\`test/bench/engine/floor\`).
- A value is the median of the rounds with a 90 % confidence interval, or with the range for fewer than 8 rounds. Ratios
  are computed within each round. A gate is missed if its whole interval misses it, and open if only its median does.
- calls_each, instructions_each: system calls and user instructions of an exchange, counted in a separate round.${whyNoCounts(counted)}

## Gates
${gateTable(runs)}

## The floor
Results of the bare relays, for the gates that they are measured against.

${floorTable(runs)}

## Measurements
${modeTables(runs, counted)}
`
}

function whyNoCounts(counted: Counted): string {
  const all = Object.values(counted).flatMap(of => Object.values(of))
  const lacks = (metric: string) => all.length > 0 && !all.some(metrics => metrics?.[metric] !== undefined)
  return [
    lacks('calls_each') ? ' This user cannot count system calls here (perf_event_open of a tracepoint).' : '',
    lacks('instructions_each') ? ' This machine has no instruction counter (perf_event_open).' : ''
  ].join('')
}

async function main(): Promise<void> {
  for (const tool of tools)
    execFileSync('make', ['-s', '-C', join(import.meta.dirname, tool)], { stdio: 'inherit' })
  const dir = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const releases: (() => unknown)[] = [() => rmSync(dir, { recursive: true, force: true })]
  let dirCount = 0
  const context = {
    teardown: (release: () => unknown) => void releases.push(release),
    testdir() {
      const testDir = join(dir, String(dirCount++))
      mkdirSync(testDir)
      return testDir
    }
  }
  try {
    const hasNoAutogroups = disableAutogroups(context)
    await run(context, loadTool, ['server', '--port', String(serverPort)], serverPort)
    const direct: Forwarding = { name: 'direct', port: serverPort, pid: 0, protocols: ['tcp', 'udp'] }
    const all = [
      direct,
      ...(await startOurs(context, Number(values.threads))),
      ...(await startOtherProxies(context)),
      ...(await startFloors(context, programOf('floor')))
    ]
    const wanted = all.filter(({ name }) => values.forwarders.split(',').includes(name))
    const wantedVariants = wantedModes().flatMap(({ mode }) => mode.variant ?? [])
    const variants = await startVariants(context, new Set<Variant>(wantedVariants))
    const forwardersOf = (mode: Mode): readonly Forwarding[] =>
      mode.variant === undefined
        ? wanted.filter(
            ({ name, protocols, isFloor }) =>
              protocols.includes(mode.protocol) &&
              (mode.hasFloor || !isFloor) &&
              !(mode.isLong && name === 'direct') // without a forwarder nothing can wait
          )
        : [variants[mode.variant]].filter(variant => variant !== undefined)
    const before = loadavg()[0] ?? 0
    const runs = measureAll(forwardersOf)
    writeFileSync(values.out, results(runs, countAll(forwardersOf), before, hasNoAutogroups))
    console.log(`${gateTable(runs)}\n\n${values.out}`)
  } finally {
    for (const release of releases.reverse()) await release()
  }
}

if (!rerunInOwnNetwork()) await main()
