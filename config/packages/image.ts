// The container image: the program, its Node, and the C and C++ library of Debian. It has no shell and no package manager.
import {
  chmodSync,
  cpSync,
  globSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync
} from 'node:fs'
import { join } from 'node:path'
import { debianPackage, debianVersion } from './downloads.ts'
import { joinLayouts, packLayout, tar, writeLayout } from './layout.ts'
import { type Part, programContents, sha256Of } from './program-contents.ts'
import { epoch, type Folders, version } from './run.ts'
import { write } from './system.ts'
import type { Target } from './targets.ts'
import { writeTree } from './tree.ts'
import { writeSbom } from './write-sbom.ts'

/** No user of a host has this number; it is customary for such images. */
const user = 65532
const home = 'usr/lib/sluice'
const states = { SVC_DATA_DIR: '/var/lib/sluice', SVC_STATE_DIR: '/var/lib/sluice-agent' }

const systemLibraries = ['libc6', 'libstdc++6', 'libgcc-s1']

const libraryPart =
  ({ debian }: Target) =>
  (name: string): Part => {
    const version = debianVersion(name, debian)
    const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${debian}&distro=debian-12`
    return { kind: 'library', name, version, purl, note: 'of Debian 12' }
  }

const fileOf = (machine: string): string => `sluice-${version}-image-${machine}.tar`

/** Returns the paths of the image for a machine, in a format for `docker load` and `podman load`, and of its list of components; none for musl. */
export function makeImage(target: Target, { work, out }: Folders): readonly string[] {
  if (target.libc === 'musl') return []
  const dir = mkdtempSync(join(work, 'image-'))
  const layout = mkdtempSync(join(work, 'layout-'))
  writeRoot(dir, target)
  const base = join(work, 'base.tar')
  const program = join(work, 'program.tar')
  const node = `${home}/node`
  const parents = ['--no-recursion', 'usr', 'usr/lib', home, 'var', 'var/lib', '--recursion']
  const libraries = globSync('{lib,lib64,usr/lib/*-linux-gnu}', { cwd: dir }).sort()
  tar(base, dir, [...parents, ...libraries, node])
  tar(program, dir, [`--exclude=${node}`, 'etc', 'tmp', 'usr/bin', home, 'usr/share'])
  const owned = Object.values(states).map(path => path.slice(1))
  tar(program, dir, owned, { mode: 'append', user })
  writeLayout(layout, { architecture: target.debian, config }, [
    { file: base, comment: 'C and C++ library of Debian, Node' },
    { file: program, comment: `sluice ${version}` }
  ])
  const file = packLayout(layout, join(out, fileOf(target.debian)))
  const contents = [...programContents(join(dir, home), target), ...systemLibraries.map(libraryPart(target))]
  return [file, writeSbom(file, contents, 'container')]
}

/** Returns the paths of one multi-platform image for a registry, and of its list, which names the images of the machines. */
export function makeJointImage({ work, out }: Folders, machines: readonly Target[]): readonly string[] {
  const layout = mkdtempSync(join(work, 'layout-'))
  joinLayouts(
    layout,
    machines.map(({ debian }) => join(out, fileOf(debian)))
  )
  const images = machines.map(({ debian }): Part => {
    const name = fileOf(debian)
    return {
      kind: 'container',
      name,
      version,
      sha256: sha256Of(join(out, name)),
      note: `see ${name}.cdx.json`
    }
  })
  const file = packLayout(layout, join(out, fileOf('all')))
  return [file, writeSbom(file, images, 'container')]
}

function writeRoot(dir: string, target: Target): void {
  for (const name of systemLibraries) copyLibraries(dir, name, target)
  const program = join(dir, home, 'dist/kernel/bin.js')
  mkdirSync(join(dir, home), { recursive: true })
  writeTree(join(dir, home), target)
  // There is no shell for bin/sluice.
  write(program, `#!/${home}/node/bin/node\n${readFileSync(program, 'utf8')}`, 0o755)
  mkdirSync(join(dir, 'usr/bin'))
  symlinkSync(`../lib/sluice/dist/kernel/bin.js`, join(dir, 'usr/bin/sluice'))
  write(join(dir, 'etc/passwd'), `root:x:0:0::/:/\nsluice:x:${user}:${user}::${states.SVC_DATA_DIR}:/\n`)
  write(join(dir, 'etc/group'), `root:x:0:\nsluice:x:${user}:\n`)
  write(join(dir, 'etc/nsswitch.conf'), 'hosts: files dns\n')
  mkdirSync(join(dir, 'var/lib'), { recursive: true })
  for (const path of Object.values(states)) mkdirSync(join(dir, path), 0o700)
  mkdirSync(join(dir, 'tmp'))
  chmodSync(join(dir, 'tmp'), 0o1777)
}

/** Excludes files that only programs in other languages read: character sets, debuggers, the linker. */
function copyLibraries(dir: string, name: string, { debian }: Target): void {
  const from = debianPackage(name, debian)
  for (const path of globSync('{lib64/*,{,usr/}lib/*-linux-gnu/*.so*,lib/ld-*,usr/share/doc/*/copyright}', {
    cwd: from
  }))
    if (!lstatSync(join(from, path)).isDirectory())
      cpSync(join(from, path), join(dir, path), { verbatimSymlinks: true })
}

const seconds = (n: number): number => n * 1e9 // the unit of Docker

const config = {
  User: `${user}:${user}`,
  Entrypoint: ['/usr/bin/sluice'],
  Cmd: ['server'],
  WorkingDir: '/',
  Env: Object.entries({ PATH: '/usr/bin', ...states, SVC_METRICS_LISTEN: '127.0.0.1:7081' }).map(
    ([name, value]) => `${name}=${value}`
  ),
  ExposedPorts: { '7080/tcp': {}, '7443/tcp': {} },
  StopSignal: 'SIGTERM',
  Healthcheck: {
    Test: ['CMD', '/usr/bin/sluice', 'health'],
    Interval: seconds(30),
    Timeout: seconds(5),
    StartPeriod: seconds(20),
    Retries: 3
  },
  Labels: {
    'org.opencontainers.image.title': 'sluice',
    'org.opencontainers.image.description':
      'Self-hosted port forwarding: the server, the agent and the command line',
    'org.opencontainers.image.version': version,
    'org.opencontainers.image.licenses': 'Apache-2.0',
    'org.opencontainers.image.created': new Date(Number(epoch) * 1000).toISOString()
  }
}
