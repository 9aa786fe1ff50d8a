// Finds what an import leaves running: timers, servers and sockets.
import { AsyncLocalStorage, createHook } from 'node:async_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'

interface Resource {
  hasRef?(): boolean // whether it keeps the process running
}

const names: Readonly<Record<string, string>> = {
  Timeout: 'Timeout',
  Immediate: 'Immediate',
  TCPSERVERWRAP: 'TCPServerWrap',
  TCPWRAP: 'TCPSocketWrap',
  UDPWRAP: 'UDPWrap'
}

/**
 * Runs `load`, and returns its result with the names of what it has started and still runs.
 * Work of others in this process, such as a server of a test, does not count.
 */
export async function withEffects<T>(load: () => Promise<T>): Promise<{ result: T; effects: string[] }> {
  const started = new Map<number, { readonly name: string; readonly resource: Resource }>() // by its async id
  const isLoading = new AsyncLocalStorage<true>()
  const hook = createHook({
    init(id, type, _trigger, resource: Resource) {
      const name = names[type]
      if (name !== undefined && isLoading.getStore()) started.set(id, { name, resource })
    },
    destroy: id => void started.delete(id)
  }).enable()
  try {
    const result = await isLoading.run(true, load)
    await nextTurn() // runs immediates of the import, and `destroy` of stopped timers
    const running = [...started.values()].filter(({ resource }) => resource.hasRef?.())
    return { result, effects: running.map(({ name }) => name) }
  } finally {
    hook.disable()
  }
}
