// Runs the container image with runc: read-only root, the user and environment of the image, and no
// capability. The network is the one of this machine.
import { spawnSync } from 'node:child_process'
import { chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { run } from '../run.ts'

/** The reason why it cannot run here, or false. */
export const noContainers =
  process.getuid?.() !== 0
    ? 'only root may unpack an image with its owners'
    : ['umoci', 'runc'].some(program => spawnSync(program, ['--version']).error) &&
      'umoci or runc is not installed'

/** The parts of umoci's output for runc that we use. */
interface Spec {
  readonly process: {
    readonly user: { uid: number; gid: number }
    readonly args: readonly string[]
  } & Environment
}

interface Environment {
  readonly env: readonly string[]
}

export interface Container {
  readonly user: { readonly uid: number; readonly gid: number }
  /** Command prefix that runs a command in the container: see `image.test.ts`. */
  readonly prefix: readonly string[]
}

/** Unpacks the image of this machine; `volumes` are folders of the container that last as long as the test. */
export function containerOf(t: Test, archive: string, volumes: readonly string[]): Container {
  const dir = t.testdir({ layout: {}, containers: {}, volumes: {} })
  run('tar', ['-xf', archive, '-C', join(dir, 'layout')])
  const [{ annotations }] = readJson<{ manifests: [{ annotations: Record<string, string> }] }>(
    join(dir, 'layout/index.json')
  ).manifests
  const image = `${dir}/layout:${annotations['org.opencontainers.image.ref.name']}`
  run('umoci', ['unpack', '--image', image, join(dir, 'bundle')])
  const { process: image0 } = readJson<Spec>(join(dir, 'bundle/config.json'))
  const { user } = image0
  const mounts = volumes.map(destination => {
    const source = join(dir, 'volumes', destination.replaceAll('/', '_'))
    mkdirSync(source, { mode: 0o700 })
    chownSync(source, user.uid, user.gid) // like Docker, which gives a new volume the owner of the image's folder
    return { type: 'bind', source, destination, options: ['bind', 'rw'] }
  })
  const spec = {
    ociVersion: '1.0.2',
    process: { user, cwd: '/', env: image0.env, args: [], noNewPrivileges: true, capabilities: {} },
    root: { path: join(dir, 'bundle/rootfs'), readonly: true },
    mounts: [...system, ...mounts],
    linux: { namespaces: ['pid', 'ipc', 'uts', 'mount'].map(type => ({ type })) }
  }
  writeFileSync(join(dir, 'spec.json'), JSON.stringify(spec))
  const program = join(import.meta.dirname, 'run-container.ts')
  return { user, prefix: [process.execPath, program, dir] }
}

const system = [
  { type: 'proc', source: 'proc', destination: '/proc' },
  { type: 'tmpfs', source: 'tmpfs', destination: '/dev', options: ['nosuid', 'mode=755'] }
]

const readJson = <T>(file: string): T => JSON.parse(readFileSync(file, 'utf8')) as T
