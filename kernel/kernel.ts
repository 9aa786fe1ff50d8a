import { type Static, type TObject, Type } from 'typebox'
import { type Clock, systemClock } from './base/clock.ts'
import { throwProblems, validateConfig } from './base/config.ts'
import { Fault, reasonOf, startupInvalid } from './base/errors.ts'
import type { Log } from './base/log.ts'
import { pluginRelease, startPlugin } from './base/plugin-lifecycle.ts'
import { type Release, Releases } from './base/releases.ts'
import { pluginProblems } from './check.ts'
import { openContainers } from './container.ts'
import { type ControlHost, controlSlot } from './control/control.ts'
import { inDependencyOrder } from './dependency-order.ts'
import { type HttpHost, hostSlot } from './http/host.ts'
import { openIdentity } from './identity/identity.ts'
import { metricsSlot } from './metrics.ts'
import type { Kernel, Plugin } from './plugin.ts'
import { serverKeys } from './settings.ts'
import { type Filled, type Slot, type SlotReader, slotReader } from './slot.ts'
import { openDataDir } from './store/data-dir.ts'
import { kernelStore } from './store/kernel-store.ts'
import { openStore } from './store/open.ts'
import { openCodec } from './wire/codec.ts'
import { wireMessages } from './wire/envelope.ts'
import { bindHandlers } from './wire/message.ts'

export interface ServerOptions {
  readonly plugins: readonly Plugin[]
  /** The configuration's top-level keys and plugin sections, as given: they are checked here. */
  readonly keys: Readonly<Record<string, unknown>>
  readonly sections: Readonly<Record<string, unknown>>
  readonly dataDir: string
  readonly version: string
  readonly log: Log
  readonly clock?: Clock
  /** The store cannot be trusted any more: the process shall stop. */
  readonly onStoreFailure?: (error: Error) => void
}

export interface Wired {
  readonly plugins: readonly Plugin[]
  readonly depsOf: (plugin: string) => Kernel
  readonly http: HttpHost
  readonly control: ControlHost
  readonly releases: Releases
}

export interface Server extends Pick<Wired, 'http' | 'control' | 'depsOf'> {
  readonly origin: string // of the operator API
  stop(): Promise<void>
}

/** The story: check, order, open the store, wire, mount, start, listen. A failure releases what was acquired. */
export async function boot(options: ServerOptions): Promise<Server> {
  const { plugins, depsOf, http, control, releases } = await wire(options)
  const abort = new AbortController()
  try {
    for (const plugin of plugins) {
      const deps = depsOf(plugin.name)
      const defer = (release: Release) => releases.defer(pluginRelease(plugin.name, release))
      await startPlugin(plugin.name, async () => {
        await http.mount(plugin, deps)
        await plugin.start?.({ deps, defer, signal: abort.signal })
      })
    }
    releases.defer(control.close)
    await control.listen()
    releases.defer(http.close)
    const { origin } = await http.listen()
    releases.defer(() => abort.abort())
    warnOfWeakToken(options)
    const listening = { origin, control_port: control.port(), server_cert_sha256: control.fingerprint }
    options.log.info('server.started', `sluice ${options.version} serves ${origin}`, listening)
    return { http, control, depsOf, origin, stop: () => releases.run() }
  } catch (error) {
    abort.abort()
    await releases.run().catch(logReleaseFailure(options.log))
    throw error
  }
}

/** A failure to give back has no caller left: it is told here, and never in place of what ended the server. */
export const logReleaseFailure =
  (log: Log) =>
  (failures: unknown): void =>
    log.error('server.not_released', reasonOf(failures))

function warnOfWeakToken({ keys: { operator_token: token }, log }: ServerOptions): void {
  if (typeof token === 'string' && token.length < 32)
    log.warn('startup.weak_operator_token', 'operator_token is short; let sluice gen-token make one')
}

/** Everything in its place, nothing started: what a command on the data directory of a stopped server needs. */
export async function wire({ clock = systemClock, log, dataDir, ...options }: ServerOptions): Promise<Wired> {
  const problems = pluginProblems(options.plugins)
  throwProblems(problems)
  const plugins = inDependencyOrder(options.plugins)
  let depsOf = (name: string): Kernel => {
    throw new TypeError(`${name} is not wired yet: what fillWith makes is there from start on`)
  }
  const filledFor = (owner: string): SlotReader => slotReader(owner, plugins, name => depsOf(name))
  const filled = filledFor('kernel')
  const { by: keeper, value: openControl } = sole(controlSlot, filled)
  const { server, configOf } = settleAll(plugins, options)
  const codec = openCodec([...wireMessages, ...plugins.flatMap(({ messages }) => messages ?? [])])
  const releases = new Releases()
  try {
    const storeFile = await openDataDir(dataDir, releases.defer)
    const store = await openStore(storeFile, [kernelStore, ...plugins], options.onStoreFailure)
    releases.defer(store.close)
    const identity = openIdentity({ store, clock, operatorToken: server.operator_token ?? null })
    const control = await openControl({
      config: configOf(keeper),
      dataDir,
      version: options.version,
      store,
      clock,
      log,
      codec,
      filled,
      handlers: peer =>
        plugins.flatMap(({ name, handlers = [] }) =>
          bindHandlers(handlers, () => ({ peer, deps: depsOf(name) }), name)
        ),
      preAuthHandlers: peer =>
        plugins.flatMap(({ name, preAuthHandlers = [] }) =>
          bindHandlers(preAuthHandlers, () => ({ peer, deps: depsOf(name) }), name)
        )
    })
    depsOf = openContainers(plugins, plugin => ({
      config: configOf(plugin.name),
      log,
      clock,
      store,
      identity,
      control,
      codec,
      filled: filledFor(plugin.name),
      document: () => http.document(),
      metrics: () => filled(metricsSlot)
    }))
    const { value: openHost } = sole(hostSlot, filled)
    const http = await openHost({ store, identity, clock, log, filled, version: options.version })
    return { plugins, depsOf, http, control, releases }
  } catch (error) {
    await releases.run()
    throw error
  }
}

/** Top-level keys and every plugin's section against their schemas: all problems at once. */
function settleAll(plugins: readonly Plugin[], { keys, sections }: Pick<ServerOptions, 'keys' | 'sections'>) {
  const all = Type.Object({
    ...serverKeys.properties,
    ...Object.assign({}, ...plugins.map(plugin => plugin.keys?.properties ?? {}))
  })
  const top = validateConfig(all, keys, '')
  const settled = plugins.map(({ name, config = Type.Object({}), keys: owned }) => {
    const { value, problems } = validateConfig(config, sections[name], `plugins.${name}`)
    const own = Object.keys(owned?.properties ?? {}).map(key => [key, top.value[key]])
    return { name, problems, value: { ...value, ...Object.fromEntries(own) } }
  })
  throwProblems([...top.problems, ...settled.flatMap(({ problems }) => problems)])
  const byName = new Map(settled.map(({ name, value }) => [name, value]))
  return {
    server: top.value as Static<typeof serverKeys>, // settle found no problem
    configOf: (name: string): Static<TObject> => byName.get(name) ?? {}
  }
}

/** For what a server cannot be without, and cannot have twice. */
function sole<T>(slot: Slot<T>, filled: SlotReader): Filled<T> {
  const [one, rival] = filled(slot)
  if (!one) throw new Fault(startupInvalid, `no plugin fills ${slot.id}, and a server needs one; enable it`)
  if (rival) throw new Fault(startupInvalid, `${one.by} and ${rival.by} both fill ${slot.id}; disable one`)
  return one
}
