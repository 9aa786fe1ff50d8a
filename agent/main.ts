// Starts an agent for the command line: configuration, plugins, bundle, engine.
import { mkdirSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { loadMetricsPlugin } from '../config/agent-plugins.ts'
import { systemClock as clock } from '../kernel/base/clock.ts'
import { makePrivateDir } from '../kernel/base/directory.ts'
import { Fault, startupInvalid, tokenRevoked } from '../kernel/base/errors.ts'
import { type LeveledLog, openLog } from '../kernel/platform/log.ts'
import { runAgent, type Signals } from './agent.ts'
import { type AgentConfig, type ConfigSources, pluginConfigs, readAgentConfig } from './config.ts'
import type { Engine, EngineOptions } from './engine/engine.ts'
import { type EngineSelection, logSelection, selectEngine } from './engine/select-engine.ts'
import { hostBoot } from './journal/host-boot.ts'
import type { AgentPlugin } from './plugin.ts'
import { loadAgentPlugins } from './plugins/load-agent-plugins.ts'
import type { Reloadable } from './reload.ts'
import { openResolver } from './resolver/resolver.ts'
import { requirePrivateDir } from './state/require-private-dir.ts'
import { isStateDirLocked } from './state/state-database.ts'
import { type Bundle, readBundle } from './stream/bundle.ts'
import { enroll, parseEnrollmentUri } from './stream/enroll.ts'
import { openHello } from './stream/hello.ts'

export interface AgentStart extends ConfigSources {
  readonly bundleFile: string | undefined // default: <state dir>/bundle.json
  readonly version: string
}

/** The configuration with everything that is loaded for it. */
interface Setup {
  readonly config: AgentConfig
  readonly log: LeveledLog
  readonly bundleFile: string
  readonly plugins: readonly AgentPlugin[]
  readonly configs: Readonly<Record<string, unknown>> // by plugin
  readonly version: string
}

/** Judges the configuration as `startAgent` does, and changes nothing. Throws its Fault. */
export async function checkAgent(start: AgentStart, uri: string | undefined): Promise<void> {
  const { config } = (await prepare(start, uri)).setup
  const { state_dir: stateDir, metrics_listen: text } = config
  if (text === undefined) return
  const { tryListen } = await loadMetricsPlugin()
  await tryListen({ key: 'metrics_listen', text }, isStateDirLocked(stateDir))
}

/** Makes this machine a client: redeems the code in `uri` and writes the bundle. Throws Fault. */
export async function enrollAgent(start: AgentStart, uri: string, signal: AbortSignal): Promise<Bundle> {
  return enrollWith(await readSetup(start), uri, signal)
}

/**
 * Runs the agent until it is stopped. Without a bundle it enrolls first, with `uri`. Throws Fault. After the server has
 * revoked the agent, every start throws.
 */
export async function startAgent(
  start: AgentStart,
  uri: string | undefined,
  signals: Signals
): Promise<void> {
  const { setup, saved, selection } = await prepare(start, uri)
  const { config, bundleFile, version, log } = setup
  if (!saved) await enrollWith(setup, uri ?? '', signals.stop)
  logSelection(selection, log)
  const { bind, state_dir: stateDir } = config
  const internal = await metricsPlugins(config.metrics_listen, selection.engine)
  const reloadableOf = ({ plugins, configs, config }: Setup): Reloadable => ({
    plugins: [...plugins, ...internal],
    configs,
    guardrails: config.guardrails,
    idleProbe: config.idle_probe,
    exits: config
  })
  const reread = async () => {
    const next = await readSetup(start, log)
    log.setLevel(next.config.log_level)
    warnOfRestart(config, next.config, log)
    return reloadableOf(next)
  }
  const resolver = openResolver({ clock })
  const keepAlive = setInterval(() => {}, 2 ** 30) // without rules and a stream, nothing else keeps the process running
  try {
    const outcome = await runAgent(
      {
        ...reloadableOf(setup),
        reread,
        openEngine: engineOpener(selection, setup, start),
        engineName: selection.engine,
        resolver,
        bind,
        stateDir,
        bundleFile,
        version,
        clock,
        boot: hostBoot(),
        log
      },
      signals
    )
    if (outcome === 'revoked') throw revoked()
  } finally {
    clearInterval(keepAlive)
  }
}

interface Prepared {
  readonly setup: Setup
  readonly saved: Bundle | null // null: `uri` enrolls
  readonly selection: EngineSelection
}

/** Everything that a start refuses before it changes anything. Throws Fault. */
async function prepare(start: AgentStart, uri: string | undefined): Promise<Prepared> {
  const setup = await readSetup(start)
  const { config, bundleFile, log } = setup
  requirePrivateDir(config.state_dir, 'state_dir')
  const saved = readBundle(bundleFile)
  if (!saved && uri === undefined)
    throw new Fault(startupInvalid, `bundle ${bundleFile} does not exist; run sluice agent enroll first`)
  if (!saved) parseEnrollmentUri(uri ?? '')
  if (saved?.revoked_at !== undefined) {
    log.error(
      'auth.failure',
      'the server has revoked this agent; run sluice agent enroll to admit it again',
      { reason: 'token_revoked' }
    )
    throw revoked()
  }
  return { setup, saved, selection: selectEngine(config.engine) }
}

/** Returns a function that opens the selected engine with the options of configuration and environment. */
const engineOpener =
  (selection: EngineSelection, { config: { threads, tcp_dead_peer_secs } }: Setup, { env }: AgentStart) =>
  (options: EngineOptions): Engine =>
    selection.open({
      ...options,
      deadPeerMs: tcp_dead_peer_secs * 1000,
      ...(threads !== undefined && { threads }),
      ...(env['SVC_DISABLE_SPLICE'] === '1' && { splice: 'off' as const })
    })

/** Reads the configuration. A running agent passes its log. */
async function readSetup(start: AgentStart, openedLog?: LeveledLog): Promise<Setup> {
  const config = readAgentConfig(start)
  const log = openedLog ?? (await openLog({ level: config.log_level, format: config.log_format }))
  const bundleFile = start.bundleFile || join(config.state_dir, 'bundle.json')
  const loaded = await loadAgentPlugins(config, start.file)
  for (const text of loaded.firstTrusted) log.warn('plugin.trusted', text)
  const configs = pluginConfigs({ loaded, table: config.plugins, placeOf: config.placeOf })
  return { config, bundleFile, plugins: loaded.plugins, configs, version: start.version, log }
}

/** Keys that apply only at the start. */
const fixedKeys = [
  'state_dir',
  'bind',
  'engine',
  'threads',
  'tcp_dead_peer_secs',
  'metrics_listen',
  'log_format'
] as const

function warnOfRestart(running: Setup['config'], next: Setup['config'], log: LeveledLog): void {
  const keys = fixedKeys.filter(key => !isDeepStrictEqual(running[key], next[key]))
  if (keys.length > 0)
    log.warn('agent.restart_needed', `these keys changed and apply after a restart: ${keys.join(', ')}`, {
      keys
    })
}

/** Loads the module only if /metrics is configured. */
async function metricsPlugins(listen: string | undefined, engine: string): Promise<readonly AgentPlugin[]> {
  if (listen === undefined) return []
  const { metricsPlugin } = await loadMetricsPlugin()
  return [metricsPlugin(listen, engine)]
}

async function enrollWith(setup: Setup, uri: string, signal: AbortSignal): Promise<Bundle> {
  const { config, bundleFile, plugins, version, log } = setup
  makePrivateDir(config.state_dir, 'state_dir') // before the code is redeemed: `run` would refuse the directory later
  mkdirSync(dirname(bundleFile), { recursive: true, mode: 0o700 })
  const hello = openHello(() => plugins, version)('')
  const bundle = await enroll({ uri, bundleFile, hello, hostName: hostname(), clock, log, signal })
  log.info('agent.enrolled', `enrolled as ${bundle.client_name}`, { client_id: bundle.client_id })
  return bundle
}

const revoked = (): Fault => new Fault(tokenRevoked, 'the server has revoked this agent')
