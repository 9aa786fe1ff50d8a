// The life of an agent: it applies the saved objects, then stays in sync with the server.
import { timestamp } from '../kernel/base/clock.ts'
import { type Release, Releases } from '../kernel/base/releases.ts'
import { type AgentOptions, type Components, openComponents } from './components.ts'
import { type Bundle, markRevoked } from './link/bundle.ts'
import { openHello } from './link/hello.ts'
import { Link, type LinkOptions } from './link/link.ts'
import { aborted } from './link/wait.ts'
import { openControlSocket } from './local/control-socket.ts'
import type { Question } from './local/protocol.ts'
import { statusCommand } from './local/status-command.ts'
import { type ConfiguredPlugins, PluginSet } from './plugins/plugin-set.ts'
import { openReload, type Reloadable } from './reload.ts'

export interface Signals {
  /** Stops the agent in order: connections drain, the last counts are reported. */
  readonly stop: AbortSignal
  /** Ends an orderly stop at once. */
  readonly cut: AbortSignal
  /** Calls the listener to reload the configuration. */
  readonly onReload?: (listener: () => void) => void
}

export interface RunOptions extends AgentOptions, ConfiguredPlugins {
  /** Reads the configuration again. Throws Fault if it is invalid. Default: no change. */
  readonly reread?: () => Promise<Reloadable>
}

/** 'revoked': the server has revoked the agent's token, and all rules are closed. */
export type Outcome = 'stopped' | 'revoked'

const sampleMs = 1000
const lastReportMs = 3000

/** Runs an agent until it is stopped or revoked. Rejects if a component or a plugin cannot start. */
export async function runAgent(options: RunOptions, { stop, cut, onReload }: Signals): Promise<Outcome> {
  const { log, reread = async () => options } = options
  const plugins = new PluginSet(options, log)
  const releases = new Releases()
  const stopLink = new AbortController()
  try {
    const components = openComponents(options, plugins, releases.defer)
    const { call, objects } = components
    releases.defer(() => plugins.stop())
    await plugins.start(call)
    await objects.restore()
    releases.defer(options.clock.every(sampleMs, call.takeSample))

    const link = new Link(linkOptions(options, plugins, components), stopLink.signal)
    releases.defer(await openLocal({ options, plugins, components, link }))
    const linked = link.run()
    const reload = openReload({ reread, plugins, components, link, log })
    onReload?.(() => void reload())
    const revoked = await Promise.race([linked, aborted(stop)])
    if (revoked) await closeRevoked(options, components, revoked)
    else await stopInOrder(options, plugins, components, cut)
    stopLink.abort()
    await linked
    return revoked ? 'revoked' : 'stopped'
  } finally {
    stopLink.abort()
    await releases.run()
  }
}

interface Running {
  readonly options: AgentOptions
  readonly plugins: PluginSet
  readonly components: Components
  readonly link: Link
}

/** Opens the socket for the command line: `status`, and the commands of the current plugins. */
function openLocal({ options, plugins, components, link }: Running): Promise<Release> {
  const { stateDir, clock, log } = options
  const { call } = components
  const status = statusCommand({ options, components, link, plugins: () => plugins.all })
  const commands = plugins.derived(all => [
    status,
    ...all.flatMap(({ commands = [] }) =>
      commands.map(({ run, ...command }) => ({
        ...command,
        run: (args: Question['args']) => run({ args: { ...args }, call })
      }))
    )
  ])
  return openControlSocket({ stateDir, commands, clock, log })
}

/** Codec and handlers are read for each stream, since plugins can change. */
function linkOptions(options: AgentOptions, plugins: PluginSet, components: Components): LinkOptions {
  const { version, bundleFile, clock, log, random } = options
  const { codec, objects, journal, handlers, call } = components
  const hello = openHello(() => plugins.all, version)
  let helloAtMs = 0
  return {
    bundleFile,
    get codec() {
      return codec()
    },
    get handlers() {
      return handlers()
    },
    hello() {
      helloAtMs = clock.monotonic()
      return hello(objects.digest())
    },
    async welcomed({ generation, kinds, server_time_ms: serverTimeMs }) {
      journal.setServerTime(serverTimeMs, helloAtMs)
      await objects.welcome(generation, kinds)
    },
    connected(channel, { parts }, signal) {
      objects.attach(channel)
      const stream = { ...channel, welcomePart: (key: string) => parts[key], signal }
      for (const plugin of plugins.all) plugin.connected?.(stream, call)
    },
    disconnected: () => objects.detach(),
    clock,
    log,
    ...(random && { random })
  }
}

/** Closes listeners, drains connections and reports the last counts. Unreported counts stay in the journal. */
async function stopInOrder(
  { clock, log }: AgentOptions,
  plugins: PluginSet,
  { objects, rules, call }: Components,
  cut: AbortSignal
): Promise<void> {
  log.info('agent.stopping', 'listeners close, connections drain')
  objects.close()
  await Promise.race([rules.closeAll('drain'), aborted(cut)])
  if (cut.aborted) return
  call.takeSample()
  const late = Promise.withResolvers<void>()
  const cancel = clock.after(lastReportMs, late.resolve)
  const reported = Promise.allSettled(plugins.all.map(plugin => plugin.stopping?.(call)))
  await Promise.race([reported, late.promise, aborted(cut)])
  cancel()
}

/** Cuts all rules and marks the bundle. The journal stays, and is reported after a new enrollment. */
async function closeRevoked(
  { bundleFile, clock, log }: AgentOptions,
  { objects, rules }: Components,
  { token }: Bundle
): Promise<void> {
  log.error('auth.failure', 'the server has revoked this agent; run sluice agent enroll to admit it again', {
    reason: 'token_revoked'
  })
  await objects.clear()
  await rules.closeAll('cut')
  markRevoked(bundleFile, token, timestamp(clock.now()))
}
