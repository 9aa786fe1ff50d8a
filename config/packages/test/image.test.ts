// The container image and the compose file without a daemon: runc runs them.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { outDir, root, run, version } from '../run.ts'
import { containerOf, noContainers } from './container.ts'
import { freePort, type Machine, runSluice, startDeployment } from './machine.ts'

const architecture = { x64: 'amd64', arm64: 'arm64' }[process.arch as 'x64' | 'arm64']
const archive = join(outDir, `sluice-${version}-image-${architecture}.tar`)

interface Service {
  readonly image: string
  readonly command: readonly string[]
  readonly environment: object
  readonly volumes: readonly string[]
  readonly read_only: boolean
  readonly cap_drop: readonly string[]
  readonly stop_grace_period: string
}

interface Compose {
  readonly services: { readonly server: Service; readonly agent: Service }
  readonly volumes: object
}

const text = readFileSync(join(root, 'config/deploy/compose.yaml'), 'utf8')
const { services, volumes } = parse(text, { merge: true }) as Compose
const both = [services.server, services.agent]

const known = ['server.toml', 'agent.toml', 'deploy/sluice-agent.service']
  .map(file => readFileSync(join(root, 'config', file), 'utf8').toLowerCase())
  .join()

const file = <T>(path: string): T => JSON.parse(run('tar', ['-xOf', archive, path])) as T
const blob = <T>({ digest }: { digest: string }): T => file<T>(`./blobs/${digest.replace(':', '/')}`)

interface Image {
  readonly config: {
    readonly User: string
    readonly Entrypoint: readonly string[]
    readonly Env: readonly string[]
    readonly Labels: object
    readonly Healthcheck: { readonly Test: readonly string[] }
  }
}

const index = file<{ manifests: [{ digest: string }] }>('./index.json')
const { config } = blob<Image>(blob<{ config: { digest: string } }>(index.manifests[0]).config)

t.test('the compose file uses the image of this version, and hardens its containers', async t => {
  const [loaded] = file<[{ RepoTags: string[] }]>('./manifest.json')
  for (const { image, read_only, cap_drop } of both) {
    t.ok(loaded.RepoTags.includes(image), image)
    t.same({ read_only, cap_drop }, { read_only: true, cap_drop: ['ALL'] })
  }
  t.match(text, `sluice-${version}-image-`)
  t.same(
    both.flatMap(({ volumes }) => volumes.map(one => one.split(':')[0])),
    Object.keys(volumes)
  )
  for (const [role, { stop_grace_period }] of Object.entries(services)) {
    const unit = readFileSync(join(root, `config/deploy/sluice-${role}.service`), 'utf8')
    t.match(unit, `TimeoutStopSec=${stop_grace_period}`)
  }
  for (const variable of both.flatMap(({ environment }) => Object.keys(environment)))
    t.match(known, variable.replace('SVC_', '').toLowerCase(), variable)
  t.match(config, { User: '65532:65532', Labels: { 'org.opencontainers.image.version': version } })
})

t.test(
  'image: server and agent run without root on a read-only file system',
  { skip: noContainers },
  async t => {
    const dirs = both.map(({ volumes }) => volumes[0]?.split(':')[1] ?? '')
    const container = containerOf(t, archive, dirs)
    const { prefix } = container
    const sluice = config.Entrypoint
    const [serverDir = '', agentDir = ''] = dirs
    const metrics = `127.0.0.1:${await freePort()}`
    const machine: Machine = {
      env: { SVC_AGENT_METRICS_LISTEN: metrics }, // the server uses the port of the image
      prefix,
      sluice,
      serverDir,
      agentDir,
      services: {
        server: [...sluice, ...services.server.command],
        agent: [...sluice, ...services.agent.command]
      }
    }

    const deployment = await startDeployment(t, machine)

    t.equal(runSluice(machine, ['--version']).trim(), version)
    t.equal(container.user.uid, 65532)
    t.equal(await deployment.forward(), 'got x')
    t.match(await deployment.agent.until('engine.selected'), { engine: 'native' })
    t.match(health(prefix, deployment.env), { status: 0 })
    t.match(health(prefix, { SVC_METRICS_LISTEN: metrics }), { status: 0 })
    t.match(health(prefix, { SVC_METRICS_LISTEN: '127.0.0.1:1' }), { status: 1 })
    await Promise.all([deployment.agent.stop(), deployment.server.stop()])
  }
)

const health = (prefix: readonly string[], env: Readonly<Record<string, string>>) =>
  spawnSync(prefix[0] ?? '', [...prefix.slice(1), ...config.Healthcheck.Test.slice(1)], {
    env: { ...process.env, ...env },
    encoding: 'utf8'
  })
