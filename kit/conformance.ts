// Checks a plugin as server and agent do at a start, and starts a server with it: `sluice plugin check`.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type TObject, Type } from 'typebox'
import type { AgentPlugin } from '../agent/plugin.ts'
import { checkPlugins } from '../agent/plugins/check.ts'
import { agentPlugins } from '../config/agent-plugins.ts'
import { importPlugin } from '../config/external/import.ts'
import { resolvePlugin } from '../config/external/resolve.ts'
import { plugins as builtin } from '../config/plugins.ts'
import { validateConfig } from '../kernel/base/config.ts'
import type { Log } from '../kernel/base/log.ts'
import { ownVersion } from '../kernel/base/version.ts'
import { pluginProblems } from '../kernel/check.ts'
import { boot, type Server } from '../kernel/kernel.ts'
import type { Plugin } from '../kernel/plugin.ts'
import { slotReader } from '../kernel/slot.ts'
import { derivedFieldSlot, ruleFieldSlot } from '../plugins/rules/exports.ts'
import { scratchFor } from './scratch.ts'

export interface Conformance {
  readonly name: string
  readonly version: string
  readonly problems: readonly string[] // empty: the plugin conforms
}

type Table = Readonly<Record<string, unknown>>

export interface Settings {
  /** Top-level keys of the configuration; those of other plugins are ignored. */
  readonly keys?: Table
  /** The plugin's section. */
  readonly section?: Table
}

/** Checks the plugin in the folder `dir`, which is left unchanged. */
export async function conform(dir: string, settings: Settings = {}): Promise<Conformance> {
  const problems: string[] = []
  const before = resources()
  const has = (half: string): boolean => ['ts', 'js'].some(end => existsSync(join(dir, `${half}.${end}`)))
  const hasAgent = has('agent')
  if (hasAgent && !has('plugin')) return conformAgent(dir, settings)
  const server = await importHalf<Plugin>(dir, 'plugin', problems)
  if (!server) return { name: dir, version: '', problems }
  const agent = hasAgent ? await importHalf<AgentPlugin>(dir, 'agent', problems) : null
  if (!hasAgent && './agent' in (packageOf(dir).exports ?? {}))
    problems.push('package.json exports ./agent, but there is no agent.ts or agent.js')
  const left = resources().filter(name => !before.includes(name))
  if (left.length > 0) problems.push(`importing it has effects (${left.join(', ')}): acquire in \`start\``)
  const others = await Promise.all(Object.values(builtin).map(async load => (await load()).default))
  problems.push(
    ...pluginProblems([...others, server]),
    ...fieldProblems(server, agent),
    ...(agent ? await agentProblems(server.name, agent) : [])
  )
  if (!existsSync(join(dir, 'README.md'))) problems.push('it has no README.md')
  if (problems.length === 0) problems.push(...settingProblems(server, settings))
  if (problems.length === 0) problems.push(...(await startProblems(dir, others, server, settings)))
  return { name: server.name, version: server.version, problems }
}

/** Checks a plugin that has only an agent half. */
async function conformAgent(dir: string, settings: Settings): Promise<Conformance> {
  const problems: string[] = []
  const agent = await importHalf<AgentPlugin>(dir, 'agent', problems)
  if (!agent) return { name: dir, version: '', problems }
  problems.push(...(await agentProblems(agent.name, agent)))
  if (!existsSync(join(dir, 'README.md'))) problems.push('it has no README.md')
  if (problems.length === 0)
    problems.push(...settingProblems({ name: agent.name, config: agent.config }, settings))
  return { name: agent.name, version: packageOf(dir).version ?? '', problems }
}

interface Manifest {
  readonly version?: string
  readonly exports?: object
}

function packageOf(dir: string): Manifest {
  const file = join(dir, 'package.json')
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Manifest) : {}
}

const resources = (): string[] =>
  process.getActiveResourcesInfo().filter(name => /^(Timeout|Immediate|TCP|UDP|Server)/.test(name))

async function importHalf<P>(dir: string, name: 'plugin' | 'agent', problems: string[]): Promise<P | null> {
  try {
    const module = (await importPlugin(resolvePlugin(dir, name, dir))) as { readonly default?: P }
    if (module.default !== undefined) return module.default // the checks below judge its shape
    problems.push(`${name}: it has no default export`)
  } catch (error) {
    problems.push(`${name}: ${messageOf(error)}`)
  }
  return null
}

/** Every agent would refuse rules with a field that only the server half has. */
function fieldProblems(server: Plugin, agent: AgentPlugin | null): string[] {
  const filled = slotReader('rules', [server], () => ({}))
  const fields = [...filled(ruleFieldSlot), ...filled(derivedFieldSlot)].map(({ value }) => value)
  return fields.flatMap(({ key, requires }) => {
    if (!agent) return [`field ${key}: there is no agent half that plans it`]
    const { id } = requires.capability
    const problems: string[] = []
    if (!agent.fields?.some(field => field.key === key)) problems.push('the agent half has none')
    if (!(id in (agent.capabilities ?? {}))) problems.push(`the agent half does not announce ${id}`)
    return problems.map(problem => `field ${key}: ${problem}`)
  })
}

async function agentProblems(server: string, agent: AgentPlugin): Promise<string[]> {
  const problems: string[] = []
  if (agent.name !== server) problems.push(`the agent half is named ${agent.name}, the server half ${server}`)
  const others = await Promise.all(Object.values(agentPlugins).map(async load => (await load()).default))
  try {
    checkPlugins([...others, agent])
  } catch (error) {
    problems.push(messageOf(error))
  }
  return problems
}

type Configured = Pick<Plugin, 'name'> & { readonly config?: TObject | undefined; readonly keys?: TObject }

/** Validates the plugin's part of the configuration, as a start does. */
function settingProblems({ name, config = Type.Object({}), keys }: Configured, settings: Settings): string[] {
  const section = validateConfig(config, settings.section, `plugins.${name}`)
  const top = validateConfig(keys ?? Type.Object({}), ownKeys(keys, settings), '')
  return [...section.problems, ...top.problems].map(
    problem => `${problem}; the settings it is checked with are those of --config FILE`
  )
}

const ownKeys = (schema: TObject | undefined, { keys = {} }: Settings): Table =>
  Object.fromEntries(Object.entries(keys).filter(([key]) => key in (schema?.properties ?? {})))

/** Starts a server with the plugin twice, without it, and with it again, on one store. Ends at the first problem. */
async function startProblems(
  dir: string,
  others: readonly Plugin[],
  plugin: Plugin,
  settings: Settings
): Promise<string[]> {
  const dataDir = scratchFor(dir, '.conformance-')
  const sections = { [plugin.name]: settings.section }
  const starts = {
    'its first start': true,
    'its second start': true,
    'a start without it': false,
    'its return': true
  }
  try {
    for (const [when, isPresent] of Object.entries(starts)) {
      const keys = { ...(isPresent && ownKeys(plugin.keys, settings)), ...listenKeys }
      const plugins = isPresent ? [...others, plugin] : others
      const open = () => boot({ plugins, keys, sections, dataDir, version: ownVersion(), log: silent })
      const problems = await runProblems(when, open, isPresent ? plugin : null)
      if (problems.length > 0) return problems
    }
    return []
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}

const listenKeys = {
  operator_http_listen: '127.0.0.1:0',
  control_listen: '127.0.0.1:0',
  metrics_listen: '127.0.0.1:0'
}
const silent: Log = { debug() {}, info() {}, warn() {}, error() {} }

async function runProblems(
  when: string,
  open: () => Promise<Server>,
  plugin: Plugin | null
): Promise<string[]> {
  const problems: string[] = []
  let place = when
  try {
    const server = await open()
    if (plugin) problems.push(...(await schemaProblems(server, plugin)))
    place = `the stop after ${when}`
    await server.stop()
  } catch (error) {
    problems.push(`${place}: ${messageOf(error)}`)
  }
  return problems
}

/** Compares the tables that the migrations have made with the entities. */
async function schemaProblems(server: Server, { name, store }: Plugin): Promise<string[]> {
  if (!store) return []
  const sql = await server
    .depsOf(name)
    .store.read(em =>
      em.getPlatform().getSchemaGenerator(em.getDriver(), em)?.getUpdateSchemaSQL({ wrap: false })
    )
  const isOwn = store.entities.some(({ meta }) => sql?.includes(meta.tableName))
  return sql && isOwn ? [`migrations and entities differ; the entities need: ${sql.trim()}`] : []
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
