#!/usr/bin/env node
// argv to server, agent or command. The only file that ends the process, and the only one that knows both halves.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

if (Number.parseInt(process.versions.node, 10) < 24) {
  process.stderr.write(
    `sluice needs Node 24 or newer, this is ${process.version} (in a checkout: npm start)\n`
  )
  process.exit(78)
}

const { runCommandLine } = await import('../plugins/cli/run.ts')
const { plugins } = await import('../config/plugins.ts')
const { commands } = await import('../agent/commands.ts')

process.exit(
  await runCommandLine(process.argv.slice(2), { version: versionOf(), plugins, agentCommands: commands })
)

/** Beside the sources in a checkout, a folder higher in the published build. */
function versionOf(): string {
  const beside = ['..', '../..'].map(up => join(import.meta.dirname, up, 'package.json'))
  for (const file of beside) {
    try {
      return JSON.parse(readFileSync(file, 'utf8')).version
    } catch (error) {
      if (file === beside.at(-1)) throw error
    }
  }
  throw new TypeError('no package.json beside the program')
}
