#!/usr/bin/env node
// Runs the server, the agent or a command. Only this file ends the process, and only it knows both halves.
import { existsSync } from 'node:fs'

if (Number.parseInt(process.versions.node, 10) < 24) {
  process.stderr.write(`sluice needs Node 24 or newer, not ${process.version} (in a checkout: npm start)\n`)
  process.exit(78)
}

if (import.meta.url.endsWith('.ts'))
  await import(new URL('../config/checkout/fast-imports.mjs', import.meta.url).href) // npm start has it already

// The published build has the agent also as one file, which starts faster and takes less memory. It lacks some commands.
const agent = new URL('../agent.mjs', import.meta.url)
const isInFile = /^agent (run|health|status)$/.test(process.argv.slice(2, 4).join(' '))
if (isInFile && existsSync(agent)) await import(agent.href)
else process.exit(await (await import('../plugins/cli/main.ts')).run(process.argv.slice(2)))
