// Installs the packed tarball into an empty folder, starts the installed server, and calls its API.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { filesReadFor } from '../packages/consumer.ts'
import { makeNpm } from '../packages/npm.ts'
import { root, run } from '../packages/run.ts'

const dir = mkdtempSync(join(root, 'dist', 'smoke-')) // on the checkout's disk: the store refuses tmpfs

const [tarball = ''] = makeNpm({ work: join(dir, 'work'), out: dir })
writeFileSync(join(dir, 'package.json'), '{"private":true}')
run('npm', ['install', '--ignore-scripts', tarball, '@types/node@24'], { cwd: dir })
const program = join(dir, 'node_modules/sluice/dist/kernel/bin.js')
checkTypes()
process.stdout.write(`installed ${run(process.execPath, [program, '--version'], { cwd: dir })}`)

/** Checks the published declarations like a strict consumer without other packages. */
function checkTypes(): void {
  const read = filesReadFor(['sluice/plugin', 'sluice/agent-plugin', 'sluice/kit'], dir)
  const own = read.filter(file => file.startsWith(join(root, 'node_modules')) && !/\/lib\.[\w.]+$/.test(file))
  if (own.length > 0)
    throw new Error(`the published types need packages that are not installed:\n${own.join('\n')}`)
}

/** Requests the page like a browser, and its first script; returns the type of that file. */
async function scriptKindOf(origin: string): Promise<string | null> {
  const page = await (await fetch(origin, { headers: { accept: 'text/html' } })).text()
  const path = /<script[^>]* src="([^"]+)"/.exec(page)?.[1]
  return path === undefined ? null : (await fetch(new URL(path, origin))).headers.get('content-type')
}

const server = spawn(process.execPath, [program, 'server', '--data-dir', join(dir, 'data')], {
  env: { ...process.env, SVC_OPERATOR_HTTP_LISTEN: '127.0.0.1:0', SVC_CONTROL_LISTEN: '127.0.0.1:0' },
  stdio: ['ignore', 'inherit', 'pipe']
})
let answer: unknown
let scriptKind: string | null = null
for await (const line of createInterface({ input: server.stderr })) {
  const { event, origin, msg } = JSON.parse(line) as { event: string; origin?: string; msg: string }
  if (event !== 'server.started') continue
  process.stdout.write(`${msg}\n`)
  answer = await (await fetch(`${origin}/v1/auth/status`)).json()
  scriptKind = await scriptKindOf(origin ?? '')
  server.kill('SIGTERM')
}
if (server.exitCode === null) await once(server, 'exit')
if (server.exitCode !== 0 || JSON.stringify(answer) !== '{"onboarding_required":true,"signed_in":false}')
  throw new Error(
    `the installed server exited with ${server.exitCode} and answered ${JSON.stringify(answer)}`
  )
if (!scriptKind?.startsWith('application/javascript'))
  throw new Error(`the installed server does not serve the console: its script has the type ${scriptKind}`)
rmSync(dir, { recursive: true })
process.stdout.write('the packed tarball works\n')
