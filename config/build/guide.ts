// Plays the guide for plugin authors, listing by listing, in an empty folder against the packed tarball.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')
const dir = mkdtempSync(join(root, 'dist', 'guide-')) // on the checkout's disk: the store refuses tmpfs

const packed = spawnSync('npm', ['pack', '--json', '--pack-destination', dir], {
  cwd: root,
  encoding: 'utf8'
})
const [{ filename }] = JSON.parse(packed.stdout) as [{ filename: string }]

const guide = readFileSync(join(root, 'plugins/README.md'), 'utf8')
const listings = [...guide.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text]) => text ?? '')
if (listings.length < 6) throw new Error('the guide has lost its listings')

/** The one thing that differs: what is not published yet comes from the tarball, and ports of this machine are free. */
const script = listings
  .join('\n')
  .replace('install --silent sluice ', `install --silent ${join(dir, filename)} `)
const work = mkdtempSync(join(dir, 'empty-'))
const [api, control, metrics] = await Promise.all([freePort(), freePort(), freePort()])
const { status } = spawnSync('bash', ['-euo', 'pipefail', '-c', script], {
  cwd: work,
  stdio: ['ignore', 'inherit', 'inherit'],
  timeout: 240_000,
  env: {
    ...process.env,
    SVC_OPERATOR_HTTP_LISTEN: `127.0.0.1:${api}`,
    SVC_SERVER: `http://127.0.0.1:${api}`,
    SVC_CONTROL_LISTEN: `127.0.0.1:${control}`,
    SVC_METRICS_LISTEN: `127.0.0.1:${metrics}`
  }
})
if (status !== 0) throw new Error(`the guide ended with ${status}; see ${work}`)
rmSync(dir, { recursive: true })
process.stdout.write('the guide for plugin authors holds\n')

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const { port } = server.address() as { port: number } // of a TCP server
  await new Promise(resolve => server.close(resolve))
  return port
}
