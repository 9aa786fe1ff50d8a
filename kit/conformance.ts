// Checks a plugin the way the server and the agent do at a start, then starts a server with it: `sluice plugin check`.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AgentPlugin, messagesOf } from '../agent/plugin.ts'
import { reasonOf } from '../kernel/base/errors.ts'
import type { BuiltinPlugins } from '../kernel/platform/plugins/builtin-plugins.ts'
import { importPlugin } from '../kernel/platform/plugins/import-plugin.ts'
import { resolvePlugin } from '../kernel/platform/plugins/resolve-plugin.ts'
import type { Plugin } from '../kernel/plugin.ts'
import { pluginProblems } from '../kernel/plugin-problems.ts'
import { filledBare } from '../plugins/cli/program/installed-commands.ts'
import { isSent, ruleFieldSlot, targetFieldSlot } from '../plugins/rules/exports.ts'
import { agentProblems, fieldProblems, targetPart } from './conformance/agent-half.ts'
import { codeProblems, unexplainedCodes } from './conformance/defined-codes.ts'
import { withEffects } from './conformance/import-effects.ts'
import { halfProblems } from './conformance/messages.ts'
import { builtinOnly, type Settings, settingProblems } from './conformance/settings.ts'
import { commandProblems } from './conformance/slots.ts'
import { tryAgentHalf, tryStarts } from './conformance/starts.ts'
import { unboundedParts } from './conformance/wire-bounds.ts'

export type { Settings } from './conformance/settings.ts'

export interface Conformance {
  readonly name: string
  readonly version: string
  readonly problems: readonly string[] // empty: the plugin conforms
  readonly notes: readonly string[] // routes that could not be tried, and why
}

/** Checks the plugin in the folder `dir`, which stays as it is. Names each problem once. */
export async function checkConformance(
  dir: string,
  builtin: BuiltinPlugins,
  settings: Settings = {}
): Promise<Conformance> {
  const found = await conform(dir, builtin, settings)
  return { ...found, problems: [...new Set(found.problems)] }
}

async function conform(dir: string, builtin: BuiltinPlugins, settings: Settings): Promise<Conformance> {
  const problems: string[] = []
  const has = (half: string): boolean => ['ts', 'js'].some(end => existsSync(join(dir, `${half}.${end}`)))
  const hasAgent = has('agent')
  if (hasAgent && !has('plugin')) return conformAgent(dir, builtin, settings)
  const { result: halves, effects } = await withEffects(async () => {
    const server = await importHalf<Plugin>(dir, 'plugin', problems)
    return {
      server,
      agent: server && hasAgent ? await importHalf<AgentPlugin>(dir, 'agent', problems) : null
    }
  })
  const { server, agent } = halves
  if (!server) return { name: dir, version: '', problems, notes: [] }
  if (!hasAgent && './agent' in (packageOf(dir).exports ?? {}))
    problems.push('package.json exports ./agent, but there is no agent.ts or agent.js')
  if (effects.length > 0)
    problems.push(`importing it has effects (${effects.join(', ')}): acquire in \`start\``)
  const others = settings.others ?? (await builtinOnly(builtin))
  problems.push(...manifestProblems(server, agent, [...others.servers, server]))
  problems.push(...codeProblems(dir, server))
  if (agent)
    problems.push(...agentProblems(server.name, agent, others.agents), ...halfProblems(server, agent))
  problems.push(...messageProblems(server, agent))
  if (!existsSync(join(dir, 'README.md'))) problems.push('it has no README.md')
  if (problems.length === 0) problems.push(...settingProblems(server, settings))
  const { name, version } = server
  if (problems.length > 0) return { name, version, problems, notes: [] }
  const trial = await tryStarts({ dir, plugin: server, agent, others, settings })
  return { name, version, ...trial, notes: [...trial.notes, ...unexplainedCodes(server)] }
}

/** Checks a plugin that has only an agent half. */
async function conformAgent(dir: string, builtin: BuiltinPlugins, settings: Settings): Promise<Conformance> {
  const problems: string[] = []
  const agent = await importHalf<AgentPlugin>(dir, 'agent', problems)
  if (!agent) return { name: dir, version: '', problems, notes: [] }
  const others = settings.others ?? (await builtinOnly(builtin))
  problems.push(...agentProblems(agent.name, agent, others.agents), ...messageProblems(null, agent))
  if (!existsSync(join(dir, 'README.md'))) problems.push('it has no README.md')
  if (problems.length === 0)
    problems.push(...settingProblems({ name: agent.name, config: agent.config }, settings))
  const { name } = agent
  const { version = '' } = packageOf(dir)
  if (problems.length > 0) return { name, version, problems, notes: [] }
  return { name, version, ...(await tryAgentHalf({ dir, agent, others, settings })) }
}

interface Manifest {
  readonly version?: string
  readonly exports?: object
}

function packageOf(dir: string): Manifest {
  const file = join(dir, 'package.json')
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Manifest) : {}
}

async function importHalf<P>(dir: string, name: 'plugin' | 'agent', problems: string[]): Promise<P | null> {
  try {
    const module = (await importPlugin(resolvePlugin(dir, name, dir))) as { readonly default?: P }
    if (module.default !== undefined) return module.default // the checks below examine its shape
    problems.push(`${name}: it has no default export`)
  } catch (error) {
    problems.push(`${name}: ${reasonOf(error)}`)
  }
  return null
}

/** Returns the problems that need no start. Fields that need services are checked after it. */
function manifestProblems(server: Plugin, agent: AgentPlugin | null, plugins: readonly Plugin[]): string[] {
  const problems = [...pluginProblems(plugins), ...commandProblems(plugins, server)]
  if (problems.some(problem => problem.startsWith(`fills ${ruleFieldSlot.id}`))) return problems
  const fields = filledBare(ruleFieldSlot, [server])
    .map(({ value }) => value)
    .filter(isSent)
  const ofTargets = filledBare(targetFieldSlot, [server]).map(({ value }) => targetPart(value))
  return [...problems, ...fieldProblems([...fields, ...ofTargets], agent)]
}

function messageProblems(server: Plugin | null, agent: AgentPlugin | null): string[] {
  const messages = [...(server?.messages ?? []), ...(agent ? messagesOf(agent) : [])]
  return unboundedParts(messages).map(problem => `message ${problem}: a peer could send any amount`)
}
