import { readdir, stat } from 'node:fs/promises'
import { cpus, freemem, totalmem } from 'node:os'
import type { Sample } from './wire.ts'

export type HostLoad = Omit<Sample, 'rtt_ms'>

/** Returns a function that measures the host; the CPU since the call before. */
export function openHostLoad(): () => Promise<HostLoad> {
  let before = cpuTimes()
  return async () => {
    const now = cpuTimes()
    const busy = now.busy - before.busy
    const all = now.all - before.all
    before = now
    const memory_total_bytes = totalmem()
    const open_descriptors = await openDescriptors()
    return {
      cpu_percent: all > 0 ? Math.min(100, Math.max(0, Math.round((busy / all) * 1000) / 10)) : 0,
      memory_used_bytes: memory_total_bytes - freemem(),
      memory_total_bytes,
      ...(open_descriptors !== null && { open_descriptors })
    }
  }
}

interface CpuTimes {
  readonly busy: number // ms
  readonly all: number
}

function cpuTimes(): CpuTimes {
  let busy = 0
  let all = 0
  for (const { times } of cpus()) {
    const used = times.user + times.nice + times.sys + times.irq
    busy += used
    all += used + times.idle
  }
  return { busy, all }
}

const folder = '/proc/self/fd'

/** Returns null where the system does not show them. The size of the folder is their number since Linux 6.2, else 0. */
async function openDescriptors(): Promise<number | null> {
  try {
    const { size } = await stat(folder)
    return size > 0 ? size : (await readdir(folder)).length
  } catch {
    return null
  }
}
