import { mkdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { programContents } from './program-contents.ts'
import { epoch, type Folders, run, version } from './run.ts'
import type { Target } from './targets.ts'
import { writeTree } from './tree.ts'
import { writeSbom } from './write-sbom.ts'
import { writeSharedFiles } from './write-shared-files.ts'

/** Returns the paths of the archive, the program with Node, and of its list of components. It needs only the C library. */
export function makeTarball(target: Target, { work, out }: Folders): readonly string[] {
  const dir = join(work, `sluice-${version}-${target.name}`)
  mkdirSync(dir)
  writeTree(dir, target)
  writeSharedFiles(join(dir, 'share'), 'site-functions')
  const file = join(out, `${basename(dir)}.tar.gz`)
  archive(dir, file)
  const contents = programContents(dir, target)
  rmSync(dir, { recursive: true })
  return [file, writeSbom(file, contents)]
}

/** Packs a folder so that the same files make the same archive. */
function archive(dir: string, file: string): void {
  const owner = ['--owner=0', '--group=0', '--numeric-owner', '--sort=name', `--mtime=@${epoch}`]
  run('tar', [...owner, '--use-compress-program=gzip -9n', '-cf', file, '-C', dirname(dir), basename(dir)])
}
