import { readFileSync } from 'node:fs'
import type { CommandIndex } from '../plugins/cli/program/installed-commands.ts'

/** The index of commands, written by `npm run index`. */
export const index = JSON.parse(
  readFileSync(new URL('./command-index.json', import.meta.url), 'utf8')
) as CommandIndex // written by npm run index
