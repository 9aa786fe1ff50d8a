// Loads the addon's binary for this machine, or returns the reason of the failure.
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { NativeModule } from './bridge.ts'

/** The properties of a machine that a binary must fit. */
export interface Machine {
  readonly platform: string
  readonly arch: string
  readonly libc: 'glibc' | 'musl' | 'other'
}

export type LoadResult =
  | { readonly ok: true; readonly module: NativeModule; readonly from: string } // the file, and files that failed before
  | { readonly ok: false; readonly reason: string }

/** Returns the files below `root` that may be the binary, best first; or the reason why there is none. */
function candidates(root: string, { platform, arch, libc }: Machine): readonly string[] | string {
  if (platform !== 'linux') return `there is no native engine for ${platform}`
  if (libc === 'other') return 'the C library is neither glibc nor musl'
  const folder = libc === 'musl' ? `${platform}-${arch}-musl` : `${platform}-${arch}`
  return [join(root, 'build', 'Release', 'sluice.node'), join(root, 'prebuilds', folder, 'sluice.node')]
}

/** Loads the first binary that works below `roots`. A local build comes before a prebuild. */
export function chooseBinary(
  roots: readonly string[],
  machine: Machine,
  exists: (file: string) => boolean,
  load: (file: string) => NativeModule
): LoadResult {
  const failed: string[] = []
  for (const root of roots) {
    const files = candidates(root, machine)
    if (typeof files === 'string') return { ok: false, reason: files }
    for (const file of files.filter(exists))
      try {
        const module = load(file)
        return { ok: true, module, from: [file, ...failed.map(why => `not ${why}`)].join(', ') }
      } catch (error) {
        failed.push(`${file}: ${error instanceof Error ? error.message : error}`)
      }
  }
  const { platform, arch, libc } = machine
  const noBinary = `no binary for ${platform}-${arch} (${libc}) was built or shipped`
  return { ok: false, reason: failed.length > 0 ? failed.join('; ') : noBinary }
}

export function detectMachine(): Machine {
  const { platform, arch } = process
  if (platform !== 'linux') return { platform, arch, libc: 'other' }
  const { header, sharedObjects } = report()
  if (header.glibcVersionRuntime !== undefined) return { platform, arch, libc: 'glibc' }
  return { platform, arch, libc: sharedObjects.some(file => /\bmusl\b/.test(file)) ? 'musl' : 'other' }
}

/** This code is native/load.ts in the source tree, and dist/native/load.js and dist/agent.mjs in the published package. */
export function loadModule(): LoadResult {
  const here = import.meta.dirname
  const roots = [here, join(here, '..', 'native'), join(here, '..', '..', 'native')]
  const require = createRequire(import.meta.url)
  return chooseBinary(roots, detectMachine(), existsSync, file => require(file) as NativeModule)
}

interface Report {
  readonly header: { readonly glibcVersionRuntime?: string }
  readonly sharedObjects: readonly string[]
}

/** Leaves connections out of the report: Node would block on a reverse DNS lookup for each. */
function report(): Report {
  const reporter: { excludeNetwork?: boolean; getReport(): object } = process.report // @types/node lacks excludeNetwork
  const { excludeNetwork } = reporter
  reporter.excludeNetwork = true
  try {
    return reporter.getReport() as Report
  } finally {
    reporter.excludeNetwork = excludeNetwork ?? false
  }
}
