#!/usr/bin/env node
// Runs the server, the agent or a command. Only this file ends the process, and only it knows both halves.
import { existsSync } from 'node:fs'

if (Number.parseInt(process.versions.node, 10) < 24) {
  process.stderr.write(
    `sluice needs Node 24 or newer, this is ${process.version} (in a checkout: npm start)\n`
  )
  process.exit(78)
}

if (import.meta.url.endsWith('.ts'))
  await import(new URL('../config/checkout/fast-imports.mjs', import.meta.url).href) // npm start has it already

// The published build has the agent as one file, which starts faster and takes less memory.
const agent = new URL('../agent.mjs', import.meta.url)
if (process.argv[2] === 'agent' && existsSync(agent)) await import(agent.href)
else process.exit(await (await import('../plugins/cli/main.ts')).run(process.argv.slice(2)))
