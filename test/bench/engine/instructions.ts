// Counts the user instructions per exchange of each forwarder with callgrind (valgrind), and writes a table. Callgrind
// works on machines without a hardware instruction counter, and other load does not change its results.
//   node test/bench/engine/instructions.ts [--secs 10] [--out test/bench/INSTRUCTIONS.md]
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { haproxyConfig, isListening, nginxConfig, run, serverPort, stop, versionOf } from './forwarders.ts'
import { formatNumber, table } from './result-tables.ts'

const { values } = parseArgs({
  options: {
    secs: { type: 'string', default: '10' },
    out: { type: 'string', default: join(import.meta.dirname, '..', 'INSTRUCTIONS.md') }
  }
})
const programOf = (tool: string) => join(import.meta.dirname, tool, 'build', tool)
const modes = {
  'connect, 64 B, close': 'connect --conc 64',
  '64 B round trip': 'exchange --conc 64'
} as const

interface Counting {
  readonly name: string
  readonly port: number
  readonly command: readonly string[]
}

function forwarders(dir: string): Counting[] {
  const rule = { port: 19_340, target: '127.0.0.1', targetPort: serverPort }
  const host = join(import.meta.dirname, 'rule-host.ts')
  const haproxyFile = join(dir, 'haproxy.cfg')
  writeFileSync(haproxyFile, haproxyConfig(19_101, null))
  const nginxFile = join(dir, 'nginx.conf')
  writeFileSync(nginxFile, `master_process off;\n${nginxConfig(19_120, dir)}`)
  const hosted = JSON.stringify({ bind: ['127.0.0.1'], rules: [rule] })
  const floor = (kind: string, port: number): Counting => ({
    name: `floor-${kind}`,
    port,
    command: [programOf('floor'), kind, String(port), String(serverPort)]
  })
  const others: (Counting & { program: 'haproxy' | 'nginx' })[] = [
    {
      name: 'haproxy',
      program: 'haproxy',
      port: 19_101,
      command: ['haproxy', '-db', '-q', '-f', haproxyFile]
    },
    { name: 'nginx', program: 'nginx', port: 19_120, command: ['nginx', '-c', nginxFile] }
  ]
  return [
    { name: 'native', port: rule.port, command: [process.execPath, host, hosted] },
    floor('epoll', 19_130),
    ...others.filter(({ program }) => versionOf(program) !== null)
  ]
}

/** Returns the instructions per exchange of each mode. The first load warms up; each dump resets the counters. */
async function count({ name, port, command }: Counting, dir: string): Promise<(number | undefined)[]> {
  const out = join(dir, name)
  const valgrind = ['--tool=callgrind', '--smc-check=all-non-file', `--callgrind-out-file=${out}.out`]
  const env = { ...process.env, UV_USE_IO_URING: '0' } // valgrind does not support io_uring
  const child = spawn('valgrind', [...valgrind, ...command], { env, stdio: ['ignore', 'ignore', 'ignore'] })
  try {
    while (!(await isListening(port)))
      if (child.exitCode !== null) throw new Error(`${name} exited at its start under valgrind`)
    const dump = () => execFileSync('callgrind_control', ['--dump', String(child.pid)], { stdio: 'ignore' })
    return Object.values(modes).map(mode => {
      load(mode, port, 1)
      dump()
      const secs = Number(values.secs)
      const done = load(mode, port, secs)
      dump()
      return newestTotal(dir, name) / done
    })
  } finally {
    await stop(child)
  }
}

/** Returns the number of exchanges in `secs` and in the unmeasured 0.2 s before. */
function load(mode: string, port: number, secs: number): number {
  const args = [...mode.split(' '), '--to', `127.0.0.1:${port}`, '--server', `127.0.0.1:${serverPort}`]
  const text = execFileSync(programOf('load'), [...args, '--secs', String(secs)], { encoding: 'utf8' })
  const { per_s: rate } = JSON.parse(text) as { per_s: number }
  return rate * (secs + 0.2)
}

function newestTotal(dir: string, name: string): number {
  const dumps = readdirSync(dir).filter(file => file.startsWith(`${name}.out.`))
  const newest = Math.max(...dumps.map(file => Number(file.split('.').at(-1))))
  const text = readFileSync(join(dir, `${name}.out.${newest}`), 'utf8')
  return Number(/^(?:summary|totals): (\d+)/m.exec(text)?.[1])
}

const dir = mkdtempSync(join(tmpdir(), 'sluice-instructions-'))
const releases: (() => unknown)[] = [() => rmSync(dir, { recursive: true, force: true })]
try {
  const context = { teardown: (release: () => unknown) => void releases.push(release), testdir: () => dir }
  await run(context, programOf('load'), ['server', '--port', String(serverPort)], serverPort)
  const rows: string[][] = []
  for (const forwarder of forwarders(dir)) {
    const counts = await count(forwarder, dir)
    rows.push([forwarder.name, ...counts.map(value => (value === undefined ? '-' : formatNumber(value)))])
    console.error(rows.at(-1)?.join(' '))
  }
  const text = `# User instructions per exchange

Written by \`node test/bench/engine/instructions.ts\` on ${new Date().toISOString().slice(0, 10)}, as
callgrind counts them over ${values.secs} s in the whole process, without the kernel. floor-epoll is a bare relay without rules,
meters, limits, timers or counters. \`RESULTS.md\` has the system calls per exchange.

${table(['forwarder', ...Object.keys(modes)], rows)}
`
  writeFileSync(values.out, text)
} finally {
  for (const release of releases.reverse()) await release()
}
