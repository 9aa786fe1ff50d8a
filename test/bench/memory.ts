// Measures the resident memory of an idle server and an idle agent as operators run them: packed, installed, ten rules.
//   npm run bench:memory -- [--program FILE] [--rules 10] [--secs 60] [--connections 1000]
// `--program`: measures this bin.js or bin.ts instead of the packed tarball.
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { freePort } from '../support/ports.ts'
import { startAgent, type TestFolder, testCluster } from '../support/test-cluster.ts'
import { quantile } from './seeded-server.ts'

const { values } = parseArgs({
  options: {
    program: { type: 'string' },
    rules: { type: 'string', default: '10' },
    secs: { type: 'string', default: '60' },
    connections: { type: 'string', default: '1000' }
  }
})
const rules = Number(values.rules)
const secs = Number(values.secs)
const connections = Number(values.connections)
const root = join(import.meta.dirname, '..', '..')
const releases: (() => unknown)[] = []
const t = { teardown: (release: () => unknown) => void releases.push(release) }

function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}:\n${stdout}${stderr}`)
  return stdout
}

/** Packs the built package, installs it in an empty folder, and returns its program. */
function install(dir: string): string {
  const [{ filename }] = JSON.parse(
    run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', dir], root)
  ) as [{ filename: string }]
  writeFileSync(join(dir, 'package.json'), '{"private":true}')
  run('npm', ['install', '--ignore-scripts', '--omit=dev', join(dir, filename)], dir)
  return join(dir, 'node_modules/sluice/dist/kernel/bin.js')
}

/** Returns MiB: resident, its anonymous part, its file pages, and the proportional set size. */
function memoryOf(pid: number): readonly number[] {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  return [
    [status, 'VmRSS'],
    [status, 'RssAnon'],
    [status, 'RssFile'],
    [rollup, 'Pss']
  ].map(([text = '', key]) => Number(new RegExp(`^${key}:\\s+(\\d+)`, 'm').exec(text)?.[1]) / 1024)
}

function print(when: string, pids: Readonly<Record<string, number>>): void {
  for (const [name, pid] of Object.entries(pids))
    console.log(`| ${[when, name, ...memoryOf(pid).map(mib => mib.toFixed(1))].join(' | ')} |`)
}

/** Returns the time to connect and get one message back. */
async function roundTrip(port: number): Promise<number> {
  const began = performance.now()
  const socket = connect(port, '127.0.0.1')
  socket.write('x'.repeat(64))
  await once(socket, 'data')
  const tookMs = performance.now() - began
  socket.destroy()
  return tookMs
}

async function callMany(ports: readonly number[]): Promise<void> {
  const times: number[] = []
  for (let i = 0; i < connections; i++) times.push(await roundTrip(ports[i % ports.length] ?? 0))
  const first = times.slice(0, 100)
  const rest = times.slice(100)
  for (const [name, part] of Object.entries({ 'first 100': first, others: rest }))
    console.log(
      `${name}: p50 ${quantile(part, 0.5).toFixed(2)} ms, p99 ${quantile(part, 0.99).toFixed(2)} ms, ` +
        `worst ${Math.max(...part).toFixed(2)} ms`
    )
}

async function bench(dir: string): Promise<void> {
  process.env['TEST_PROGRAM'] = values.program ?? install(dir)
  const folder = { ...t, testdir: () => dir } as unknown as TestFolder // the helpers use only these members
  const cluster = await testCluster(folder)
  const { agent } = await startAgent(folder, cluster, 'edge')
  const target = createServer(socket => socket.on('error', () => {}).pipe(socket))
  await once(target.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => target.close())
  const targets = [{ host: '127.0.0.1', port: (target.address() as AddressInfo).port }]
  const ports: number[] = []
  for (let i = 0; i < rules; i++) {
    const port = await freePort()
    await cluster.call('POST', '/v1/rules', { client: 'edge', listen_port: port, targets })
    ports.push(port)
  }
  const pids = { agent: agent.pid, server: cluster.server.pid }
  console.log(`${rules} rules; MiB\n`)
  console.log('| when | process | RSS | anonymous | files | PSS |\n|---|---|---|---|---|---|')
  print('rules are open', pids)
  await setTimeout(secs * 1000)
  print(`idle for ${secs} s`, pids)
  await callMany(ports)
  print(`after ${connections} connections`, pids)
  await setTimeout(secs * 1000)
  print(`idle for ${secs} s again`, pids)
}

const dir = mkdtempSync(join(root, 'dist', 'memory-')) // on the checkout's disk, since the store refuses tmpfs
try {
  await bench(dir)
} finally {
  for (const release of releases.reverse()) await release()
  rmSync(dir, { recursive: true, force: true })
}
