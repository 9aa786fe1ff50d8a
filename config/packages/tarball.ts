import { mkdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { epoch, type Folders, run, version } from './run.ts'
import type { Target } from './targets.ts'
import { writeTree } from './tree.ts'
import { writeSharedFiles } from './write-shared-files.ts'

/** Returns the path of the archive: the program with Node. It needs only the C library. */
export function makeTarball(target: Target, { work, out }: Folders): string {
  const dir = join(work, `sluice-${version}-${target.name}`)
  mkdirSync(dir)
  writeTree(dir, target)
  writeSharedFiles(join(dir, 'share'), 'site-functions')
  const file = join(out, `${basename(dir)}.tar.gz`)
  archive(dir, file)
  rmSync(dir, { recursive: true })
  return file
}

/** Packs a folder so that the same files make the same archive. */
function archive(dir: string, file: string): void {
  const owner = ['--owner=0', '--group=0', '--numeric-owner', '--sort=name', `--mtime=@${epoch}`]
  run('tar', [...owner, '--use-compress-program=gzip -9n', '-cf', file, '-C', dirname(dir), basename(dir)])
}
