// Installs the .deb packages of this machine, and builds them again with a higher revision.
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { run, version } from '../run.ts'
import type { Debian } from './debian.ts'

const architecture = { x64: 'amd64', arm64: 'arm64' }[process.arch as 'x64' | 'arm64']
const packagesIn = (folder: string): string[] => globSync(join(folder, `*_${architecture}.deb`))

/** Returns the output of dpkg. */
export function install({ dir, inside }: Debian, folder: string): string {
  mkdirSync(join(dir, 'packages'))
  for (const file of packagesIn(folder)) cpSync(file, join(dir, 'packages', basename(file)))
  return inside('sh', '-c', 'dpkg --install /packages/*.deb && rm -r /packages')
}

/** Builds packages of a higher revision from the same files, in a new folder; returns it. */
export function nextRevision(from: string, dir: string): string {
  mkdirSync(dir)
  for (const file of packagesIn(from)) {
    const files = join(dir, 'files')
    run('dpkg-deb', ['--raw-extract', file, files])
    const control = join(files, 'DEBIAN/control')
    writeFileSync(control, readFileSync(control, 'utf8').replaceAll(`${version}-1`, `${version}-2`))
    run('dpkg-deb', ['-Zgzip', '-z1', '--build', files, join(dir, basename(file))])
    rmSync(files, { recursive: true })
  }
  return dir
}
