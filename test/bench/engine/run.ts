// The engines beside their peers: builds the load tool, starts all of them, measures in turn, writes the tables.
//   node test/bench/engine/run.ts [--rounds 9] [--hold-rounds 3] [--secs 1] [--threads 1] [--only mode,...] [--forwarders name,...]
//     [--out test/bench/RESULTS.md] [--network own|shared]
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { arch, availableParallelism, cpus, loadavg, release, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Ground } from '../../support/test-cluster.ts'
import { type Running, run, serverPort, startOurs, startPeers, versionOf } from './forwarders.ts'
import { type Forwarder, type Mode, modes, ours } from './modes.ts'
import { type Figures, gateTable, modeTables, type Runs } from './table.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    'hold-rounds': { type: 'string', default: '3' },
    secs: { type: 'string', default: '1' },
    threads: { type: 'string', default: '1' },
    only: { type: 'string', default: Object.keys(modes).join() },
    forwarders: { type: 'string', default: ['direct', ...ours, 'haproxy', 'haproxy-1m', 'nginx'].join() },
    out: { type: 'string', default: join(import.meta.dirname, '..', 'RESULTS.md') },
    network: { type: 'string', default: 'own' }
  }
})
const load = join(import.meta.dirname, 'load', 'build', 'load')

/** Again in a network of its own, with no other traffic and many ports; false where this user may not. */
function ranInOwnNetwork(): boolean {
  if (values.network !== 'own') return false
  const ready = 'ip link set lo up && echo 10000 65000 > /proc/sys/net/ipv4/ip_local_port_range'
  const listen = 'echo 8192 > /proc/sys/net/core/somaxconn'
  if (spawnSync('unshare', ['--net', 'sh', '-c', ready]).status !== 0) return false
  const again = ['--net', 'sh', '-c', `${ready} && ${listen} && exec "$@"`, 'sh', process.execPath]
  const args = [...process.execArgv, import.meta.filename, ...process.argv.slice(2), '--network', 'entered']
  const { status } = spawnSync('unshare', [...again, ...args], { stdio: 'inherit' })
  process.exitCode = status ?? 1
  return true
}

const autogroups = '/proc/sys/kernel/sched_autogroup_enabled'

/**
 * A session is a unit of the scheduler, and of who shares one with whom hangs more than of the forwarder: UDP costs two
 * thirds, and small exchanges wait ten times as long beside a bulk transfer. Without, a thread is as good as another.
 */
function withoutAutogroups(t: Ground): boolean {
  try {
    const before = readFileSync(autogroups, 'utf8')
    writeFileSync(autogroups, '0')
    t.teardown(() => writeFileSync(autogroups, before))
    return true
  } catch {
    return false // no such thing here, or not for this user to say
  }
}

/** Half of the descriptors that a process may have: a forwarder needs two a connection. */
const mostHeld = Math.floor(
  (Number(execFileSync('sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' })) - 400) / 2
)

function measure(mode: Mode, { port, pid }: Running): Figures | undefined {
  const args = [...mode.load.split(' '), '--to', `127.0.0.1:${port}`, '--server', `127.0.0.1:${serverPort}`]
  args.push('--pid', String(pid), '--secs', String(values.secs))
  if (mode.holds !== undefined) args.push('--conns', String(Math.min(mode.holds, mostHeld)))
  const { status, stdout, stderr } = spawnSync(load, args, { encoding: 'utf8', timeout: 180_000 })
  if (status === 0) return JSON.parse(stdout) as Figures
  console.error(`load ${args.join(' ')}: ${stderr.trim() || 'no answer in time'}`)
  return undefined
}

/** Held connections first: flows of UDP, which live on, would take the descriptors for them. */
function measureAll(forwarders: readonly Running[]): Runs {
  const runs: Record<string, Partial<Record<Forwarder, (Figures | undefined)[]>>> = {}
  const wanted = values.only.split(',').map(name => {
    const mode = modes[name]
    if (!mode) throw new Error(`there is no mode ${name}: ${Object.keys(modes).join()}`)
    runs[name] = Object.fromEntries(forwarders.filter(carries(mode)).map(({ name }) => [name, []]))
    return { name, mode }
  })
  const rounds = Number(values.rounds)
  const phases = [
    {
      count: Math.min(rounds, Number(values['hold-rounds'])),
      of: wanted.filter(({ mode }) => mode.holds !== undefined)
    },
    { count: rounds, of: wanted.filter(({ mode }) => mode.holds === undefined) }
  ]
  for (const { count, of } of phases)
    for (let round = 0; round < count && of.length > 0; round++) {
      const order = round % 2 === 0 ? forwarders : forwarders.toReversed()
      for (const { name, mode } of of.filter(({ mode }) => round === 0 || !mode.isLong))
        for (const forwarder of order.filter(carries(mode)))
          runs[name]?.[forwarder.name]?.push(measure(mode, forwarder))
      console.log(`round ${round + 1} of ${count}, load average ${loadavg()[0]?.toFixed(1)}`)
    }
  return runs
}

const carries =
  ({ protocol }: Mode) =>
  (forwarder: Running) =>
    forwarder.carries.includes(protocol)

const machine = (): string =>
  `${cpus()[0]?.model ?? 'unknown processor'}, ${availableParallelism()} cores, ` +
  `${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()} ${arch()}, Node ${process.version}`

function results(runs: Runs, loadBefore: number, isFlat: boolean): string {
  const now = new Date().toISOString().replace('T', ' ').slice(0, 16)
  const network =
    values.network === 'entered' ? 'a network namespace of its own' : 'the loopback of the machine'
  return `# The engines beside their peers

Written by \`npm run bench\` on ${now} UTC.

- Machine: ${machine()}. Load average ${loadBefore.toFixed(1)} before, ${loadavg()[0]?.toFixed(1)} after.
- Peers: ${[versionOf('haproxy'), versionOf('nginx')].filter(Boolean).join('; ') || 'none installed'}.
- Command: \`node test/bench/engine/run.ts ${process.argv.slice(2).join(' ').replace(' --network entered', '')}\`;
  ${values.rounds} rounds of ${values.secs} s (what holds connections: at most ${values['hold-rounds']}), order alternating,
  over ${network}; every forwarder on ${values.threads} thread(s), ours with all meters and counters on.
- ${isFlat ? 'No autogroups of the scheduler: every thread counts alike.' : 'Autogroups of the scheduler as they were.'}
- CPU is that of the whole process tree of the forwarder, our agent's Node included, from /proc.
- Native: the fast engine; native-copy: the same with splice off; portable: the fallback in Node.
- \`haproxy\` splices with pipes as they come, \`haproxy-1m\` with pipes of 1 MiB.
- A figure is the median of the rounds (least to most); a ratio is taken within each round.

## Gates
${gateTable(runs)}

## Figures
${modeTables(runs)}
`
}

async function main(): Promise<void> {
  execFileSync('make', ['-s', '-C', join(import.meta.dirname, 'load')], { stdio: 'inherit' })
  const dir = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const releases: (() => unknown)[] = [() => rmSync(dir, { recursive: true, force: true })]
  let folders = 0
  const ground = {
    teardown: (release: () => unknown) => void releases.push(release),
    testdir() {
      const folder = join(dir, String(folders++))
      mkdirSync(folder)
      return folder
    }
  }
  try {
    const isFlat = withoutAutogroups(ground)
    await run(ground, load, ['server', '--port', String(serverPort)], serverPort)
    const direct: Running = { name: 'direct', port: serverPort, pid: 0, carries: ['tcp', 'udp'] }
    const all = [direct, ...(await startOurs(ground, Number(values.threads))), ...(await startPeers(ground))]
    const wanted = values.forwarders.split(',')
    const before = loadavg()[0] ?? 0
    const runs = measureAll(all.filter(({ name }) => wanted.includes(name)))
    writeFileSync(values.out, results(runs, before, isFlat))
    console.log(`${gateTable(runs)}\n\n${values.out}`)
  } finally {
    for (const release of releases.reverse()) await release()
  }
}

if (!ranInOwnNetwork()) await main()
