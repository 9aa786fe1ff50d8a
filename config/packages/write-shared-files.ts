// Manual pages and shell completion, generated from the index of commands.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { writeManual } from '../build/manual-pages.ts'
import { root, run } from './run.ts'

export type ZshFolder = 'vendor-completions' | 'site-functions'

/** Writes `man/man1` and completion for bash, zsh and fish below a folder with the layout of /usr/share. */
export function writeSharedFiles(share: string, zshFolder: ZshFolder): void {
  const manual = join(share, 'man', 'man1')
  writeManual(manual)
  for (const page of readdirSync(manual).map(file => join(manual, file))) {
    writeFileSync(`${page}.gz`, gzipSync(readFileSync(page), { level: 9 }))
    rmSync(page)
  }
  const program = join(root, 'dist', 'kernel', 'bin.js')
  const script = (shell: string): string => run(process.execPath, [program, 'completion', shell])
  const write = (folder: string, file: string, text: string): void => {
    mkdirSync(join(share, folder), { recursive: true })
    writeFileSync(join(share, folder, file), text)
  }
  write('bash-completion/completions', 'sluice', script('bash'))
  write(`zsh/${zshFolder}`, '_sluice', zsh(script('zsh')))
  write('fish/vendor_completions.d', 'sluice.fish', script('fish'))
}

/** zsh loads this file at the first completion and uses it as the function. */
const zsh = (script: string): string =>
  `#compdef sluice\n${script}\n_bash_complete -o bashdefault -o default -F _sluice\n`
