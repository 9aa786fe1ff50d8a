// Measures a server from outside while others use it: API latency and resident memory.
import { readFileSync } from 'node:fs'
import { quantile } from '../bench/seeded-server.ts'
import type { TestCluster } from '../support/test-cluster.ts'

export interface LatencyStats {
  readonly count: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

const paths = ['/v1/auth/status', '/v1/clients', '/v1/rules', '/v1/stats/summary']
const everyMs = 50

/** Calls the API as a superadmin until `stop`, one request at a time. Rejects if a response is not 200. */
export async function probe({ call }: TestCluster, stop: AbortSignal): Promise<LatencyStats> {
  const tookMs: number[] = []
  while (!stop.aborted)
    for (const path of paths) {
      const start = performance.now()
      await call('GET', path)
      tookMs.push(performance.now() - start)
      await new Promise(resolve => setTimeout(resolve, everyMs))
    }
  const at = (share: number): number => Math.round(quantile(tookMs, share) * 10) / 10
  return { count: tookMs.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) }
}

export function residentMib(pid: number): number {
  const [, kib] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Math.round(Number(kib) / 1024)
}

/** Samples the resident memory in MiB once a second until `stop`. */
export async function watchMemory(pid: number, stop: AbortSignal): Promise<number[]> {
  const mib: number[] = []
  while (!stop.aborted) {
    mib.push(residentMib(pid))
    await new Promise(resolve => setTimeout(resolve, 1000))
  }
  return mib
}
