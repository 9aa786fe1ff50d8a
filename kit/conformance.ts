// Does a plugin keep the contract? Judged as a server and an agent would, on real tables and sockets, in its own folder.
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type TObject, Type } from 'typebox'
import type { AgentPlugin } from '../agent/plugin.ts'
import { checkPlugins } from '../agent/plugins/check.ts'
import { agentPlugins } from '../config/agent-plugins.ts'
import { importPlugin } from '../config/external/import.ts'
import { resolvePlugin } from '../config/external/resolve.ts'
import { plugins as builtin } from '../config/plugins.ts'
import { validateConfig } from '../kernel/base/config.ts'
import { Fault } from '../kernel/base/errors.ts'
import { ownVersion } from '../kernel/base/version.ts'
import { pluginProblems } from '../kernel/check.ts'
import { boot, type Server, type ServerOptions } from '../kernel/kernel.ts'
import type { Plugin } from '../kernel/plugin.ts'
import { slotReader } from '../kernel/slot.ts'
import { type CapabilityRequirement, derivedFieldSlot, ruleFieldSlot } from '../plugins/rules/exports.ts'
import { scratchFor } from './scratch.ts'

export interface Conformance {
  readonly name: string
  readonly version: string
  /** All that is wrong; empty: it conforms. */
  readonly problems: readonly string[]
}

type Table = Readonly<Record<string, unknown>>

export interface Settings {
  /** Keys at the top of the configuration: those that the plugin owns are taken. */
  readonly keys?: Table
  /** Its section. */
  readonly section?: Table
}

/** `dir` is the plugin's folder. It is left as it was. */
export async function conform(dir: string, settings: Settings = {}): Promise<Conformance> {
  const problems: string[] = []
  const before = resources()
  const server = (await half<Plugin>(dir, 'plugin', problems)) as Plugin | null
  if (!server) return { name: dir, version: '', problems }
  const agent = hasAgent(dir) ? await half<AgentPlugin>(dir, 'agent', problems) : null
  const left = resources().filter(name => !before.includes(name))
  if (left.length > 0) problems.push(`importing it has effects (${left.join(', ')}): acquire in \`start\``)
  const others = await Promise.all(Object.values(builtin).map(async load => (await load()).default))
  problems.push(
    ...pluginProblems([...others, server]),
    ...strayRoutes(server),
    ...(await halves(server, agent))
  )
  if (!existsSync(join(dir, 'README.md'))) problems.push('it has no README.md')
  if (problems.length === 0) problems.push(...unsettled(server, settings))
  if (problems.length === 0) problems.push(...(await life(dir, others, server, settings)))
  return { name: server.name, version: server.version, problems }
}

const resources = (): string[] =>
  process.getActiveResourcesInfo().filter(name => /^(Timeout|Immediate|TCP|UDP|Server)/.test(name))

const hasAgent = (dir: string): boolean => ['ts', 'js'].some(end => existsSync(join(dir, `agent.${end}`)))

async function half<P>(dir: string, name: 'plugin' | 'agent', problems: string[]): Promise<P | null> {
  try {
    const { default: plugin } = (await importPlugin(resolvePlugin(dir, name, dir))) as {
      readonly default?: P
    }
    if (plugin !== undefined) return plugin // check() judges its shape
    problems.push(`${name}: it has no default export`)
  } catch (error) {
    problems.push(`${name}: ${messageOf(error)}`)
  }
  return null
}

const strayRoutes = ({ routes = [] }: Plugin): string[] =>
  routes.filter(({ url }) => !url.startsWith('/v1/')).map(({ url }) => `route ${url}: begin it with /v1/`)

/** A field that only one half knows would be refused on every edge. */
async function halves(server: Plugin, agent: AgentPlugin | null): Promise<string[]> {
  const filled = slotReader('rules', [server], () => ({}))
  const parts: readonly { readonly key: string; readonly requires: CapabilityRequirement }[] = [
    ruleFieldSlot,
    derivedFieldSlot
  ].flatMap(slot =>
    filled<{ key: string; requires: CapabilityRequirement }>(slot as never).map(({ value }) => value)
  )
  const problems = parts.flatMap(({ key, requires }) => {
    if (!agent) return [`field ${key}: there is no agent half that plans it`]
    return [
      ...((agent.fields ?? []).some(field => field.key === key)
        ? []
        : [`field ${key}: the agent half has none`]),
      ...(requires.capability.id in (agent.capabilities ?? {})
        ? []
        : [`field ${key}: the agent half does not announce ${requires.capability.id}`])
    ]
  })
  if (!agent) return problems
  if (agent.name !== server.name)
    problems.push(`the agent half is named ${agent.name}, the server half ${server.name}`)
  const others = await Promise.all(Object.values(agentPlugins).map(async load => (await load()).default))
  return [...problems, ...said(() => checkPlugins([...others, agent]))]
}

/** Its own part of the configuration, as a start would judge it. */
function unsettled({ name, config = Type.Object({}), keys }: Plugin, given: Settings): string[] {
  const section = validateConfig(config, given.section, `plugins.${name}`)
  const top = validateConfig(keys ?? Type.Object({}), owned(keys, given), '')
  return [...section.problems, ...top.problems].map(
    problem => `${problem}; the settings it is checked with are those of --config FILE`
  )
}

const owned = (keys: TObject | undefined, given: Settings): Table =>
  Object.fromEntries(Object.entries(given.keys ?? {}).filter(([key]) => key in (keys?.properties ?? {})))

/** It comes, stays, goes, and comes back, on one store. */
async function life(
  dir: string,
  others: readonly Plugin[],
  plugin: Plugin,
  settings: Settings
): Promise<string[]> {
  const dataDir = scratchFor(dir, '.conformance-')
  const problems: string[] = []
  try {
    for (const [when, plugins] of [
      ['its first start', [...others, plugin]],
      ['its second start', [...others, plugin]],
      ['a start without it', others],
      ['its return', [...others, plugin]]
    ] as const) {
      const keys = plugins.includes(plugin) ? owned(plugin.keys, settings) : {}
      const given = { keys, sections: { [plugin.name]: settings.section } }
      const server = await started(dataDir, plugins, given).catch((error: unknown) => {
        problems.push(`${when}: ${messageOf(error)}`)
        return null
      })
      if (!server) break
      if (plugins.includes(plugin)) problems.push(...(await schema(server, plugin)))
      await server.stop().catch(error => problems.push(`the stop after ${when}: ${messageOf(error)}`))
      if (problems.length > 0) break
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
  return problems
}

const started = (
  dataDir: string,
  plugins: readonly Plugin[],
  { keys, sections }: Pick<ServerOptions, 'keys' | 'sections'>
): Promise<Server> =>
  boot({
    plugins,
    keys: {
      ...keys,
      operator_http_listen: '127.0.0.1:0',
      control_listen: '127.0.0.1:0',
      metrics_listen: '127.0.0.1:0'
    },
    sections,
    dataDir,
    version: ownVersion(),
    log: { debug() {}, info() {}, warn() {}, error() {} }
  })

/** What its migrations made is what its entities say. */
async function schema(server: Server, { name, store }: Plugin): Promise<string[]> {
  if (!store) return []
  const sql = await server
    .depsOf(name)
    .store.read(em =>
      em.getPlatform().getSchemaGenerator(em.getDriver(), em)?.getUpdateSchemaSQL({ wrap: false })
    )
  const isMine = store.entities.some(({ meta }) => sql?.includes(meta.tableName))
  return sql && isMine ? [`migrations and entities differ; to be as the entities say: ${sql.trim()}`] : []
}

function said(work: () => void): string[] {
  try {
    work()
    return []
  } catch (error) {
    return [messageOf(error)]
  }
}

const messageOf = (error: unknown): string =>
  error instanceof Fault || error instanceof Error ? error.message : String(error)
