// Installs the packed tarball into an empty folder, starts the installed server, and calls its API.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const root = join(import.meta.dirname, '..', '..')
const dir = mkdtempSync(join(root, 'dist', 'smoke-')) // on the checkout's disk: the store refuses tmpfs

function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}:\n${stdout}${stderr}`)
  return stdout
}

const [{ filename }] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', dir], root)) as [
  { filename: string }
]
writeFileSync(join(dir, 'package.json'), '{"private":true}')
run('npm', ['install', '--ignore-scripts', join(dir, filename), '@types/node@24'], dir)
const program = join(dir, 'node_modules/sluice/dist/kernel/bin.js')
checkTypes()
process.stdout.write(`installed ${run(process.execPath, [program, '--version'], dir)}`)

/** Checks the published declarations as a strict consumer without further packages sees them. */
function checkTypes(): void {
  const modules = ['plugin', 'agent-plugin', 'kit'].map(
    (name, i) => `export * as part${i} from 'sluice/${name}'`
  )
  writeFileSync(join(dir, 'consumer.mts'), modules.join('\n'))
  const options = [
    '--module',
    'nodenext',
    '--target',
    'es2024',
    '--lib',
    'esnext',
    '--strict',
    '--types',
    'node'
  ]
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const args = [
    '--noEmit',
    '--skipLibCheck',
    'false',
    '--listFiles',
    '--ignoreConfig',
    ...options,
    'consumer.mts'
  ]
  const read = run(process.execPath, [tsc, ...args], dir).split('\n')
  const own = read.filter(file => file.startsWith(join(root, 'node_modules')) && !/\/lib\.[\w.]+$/.test(file))
  if (own.length > 0)
    throw new Error(`the published types need packages that are not installed:\n${own.join('\n')}`)
}

const server = spawn(process.execPath, [program, 'server', '--data-dir', join(dir, 'data')], {
  env: { ...process.env, SVC_OPERATOR_HTTP_LISTEN: '127.0.0.1:0', SVC_CONTROL_LISTEN: '127.0.0.1:0' },
  stdio: ['ignore', 'inherit', 'pipe']
})
let answer: unknown
for await (const line of createInterface({ input: server.stderr })) {
  const { event, origin, msg } = JSON.parse(line) as { event: string; origin?: string; msg: string }
  if (event !== 'server.started') continue
  process.stdout.write(`${msg}\n`)
  answer = await (await fetch(`${origin}/v1/auth/status`)).json()
  server.kill('SIGTERM')
}
if (server.exitCode === null) await once(server, 'exit')
if (server.exitCode !== 0 || JSON.stringify(answer) !== '{"onboarding_required":true}')
  throw new Error(`the installed server ended with ${server.exitCode} and answered ${JSON.stringify(answer)}`)
rmSync(dir, { recursive: true })
process.stdout.write('the packed tarball works\n')
