// Returns memory of the start and of past loads to the system while a server or an agent is idle.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Log } from '../../kernel/base/log.ts'
import type { Release } from '../../kernel/base/releases.ts'
import { loadModule } from '../../native/load.ts'

interface Options {
  readonly log: Log
  readonly defer: (release: Release) => void
}

/** CPU time and memory of a process. */
export interface Usage {
  readonly cpuMs: number // over all threads
  readonly atMs: number // monotonic
  readonly heldBytes: number // resident
  readonly resources: number // mostly connections; after one closes, its memory is free but still resident
}

const checkMs = 15_000
const busyCpu = 0.02 // of one core
const grownBytes = 8 * 2 ** 20
const goneResources = 100 // connections of agents, worth about grownBytes

/** Compares CPU time with real time, so it does not use the clock service. */
export function releaseMemoryWhenIdle({ log, defer }: Options): void {
  const release = openMemoryRelease()
  const detector = openIdleDetector(usage())
  const check = setInterval(() => {
    const before = usage()
    if (!detector.isDue(before)) return
    release()
    const after = usage()
    detector.released(after)
    log.debug('memory.released', 'idle: released unused memory', {
      before_bytes: before.heldBytes,
      after_bytes: after.heldBytes,
      took_ms: Math.round(after.atMs - before.atMs)
    })
  }, checkMs).unref()
  defer(() => clearInterval(check))
}

/** Finds the first idle interval after the start, and after each load that grew the process or closed connections. */
export function openIdleDetector(started: Usage) {
  let before = started
  let left: Pick<Usage, 'heldBytes' | 'resources'> = { heldBytes: 0, resources: 0 }
  let wasBusy = true
  return {
    isDue(now: Usage): boolean {
      const isBusy = now.cpuMs - before.cpuMs >= (now.atMs - before.atMs) * busyCpu
      before = now
      wasBusy ||= isBusy
      const hasGrown = now.heldBytes >= left.heldBytes + grownBytes
      return wasBusy && !isBusy && (hasGrown || now.resources <= left.resources - goneResources)
    },
    released(now: Usage): void {
      before = now
      left = now
      wasBusy = false
    }
  }
}

function usage(): Usage {
  const { user, system } = process.cpuUsage()
  return {
    cpuMs: (user + system) / 1000,
    atMs: performance.now(),
    heldBytes: process.memoryUsage.rss(),
    resources: process.getActiveResourcesInfo().length
  }
}

/** Without the addon, only JavaScript's memory is released. */
export function openMemoryRelease(): () => void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as NodeJS.GCFunction // defined by the flag
  return () => {
    gc({ type: 'major', execution: 'sync', flavor: 'last-resort' })
    const native = loadModule()
    if (native.ok) native.module.giveBackMemory()
  }
}
