// The engine that an agent on this host would use, and its system limits.
import { release } from 'node:os'
import { type EngineSelection, selectEngine } from '../../../agent/engine/select-engine.ts'
import { type DoctorContext, defineCheck, type Finding } from '../../cli/check-exports.ts'
import { numberIn } from '../host.ts'

const wantedPipe = 2 ** 20
const wantedPages = 4096 // 16 MiB
const pageBytes = 4096

type FindingId = 'engine.portable' | 'engine.kernel' | 'engine.pipe_size' | 'engine.pipe_pages'

export const engine = defineCheck<FindingId>({
  name: 'engine',
  roles: ['server', 'agent'],
  findings: {
    'engine.portable': {
      status: 'warn',
      when: 'the native engine does not load; the portable engine needs several times the CPU time',
      remedy: 'on Linux install make and g++ (C++20), then run: npm rebuild sluice'
    },
    'engine.kernel': {
      status: 'warn',
      when: 'Linux is older than 5.11: while a rate limit applies, the native engine spins instead of sleeping',
      remedy: 'update the kernel of this host'
    },
    'engine.pipe_size': {
      status: 'warn',
      when: 'pipes are limited to less than 1 MiB, so long transfers need more CPU time',
      remedy: 'sysctl fs.pipe-max-size=1048576'
    },
    'engine.pipe_pages': {
      status: 'warn',
      when: 'the pipes of a user have fewer than 4,096 pages in total; the default of 16,384 suffices for 64 stalled transfers at once, and the bytes of further ones are copied',
      remedy: 'sysctl fs.pipe-user-pages-soft=16384'
    }
  },
  async run(context) {
    const wanted = context.role === 'agent' ? String(context.keys['engine']) : 'auto'
    const selected = selectEngine(wanted === 'portable' ? 'portable' : 'auto')
    const chosen = engineFinding(selected)
    return selected.engine === 'portable' ? [chosen] : [chosen, ...checkLimits(context, release())]
  }
})

export const engineFinding = ({
  engine,
  reason
}: Pick<EngineSelection, 'engine' | 'reason'>): Finding<FindingId> =>
  engine === 'native'
    ? { ok: `an agent here forwards with the native engine, ${reason}` }
    : {
        id: 'engine.portable',
        message: `an agent here forwards with the portable engine: ${reason}`
      }

/** `version`: the Linux release, such as '6.1.0-18-amd64'. */
export function checkLimits({ host }: Pick<DoctorContext, 'host'>, version: string): Finding<FindingId>[] {
  const found: Finding<FindingId>[] = []
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major < 5 || (major === 5 && minor < 11))
    found.push({ id: 'engine.kernel', message: `this is Linux ${version}` })
  const size = numberIn(host, '/proc/sys/fs/pipe-max-size')
  if (size !== null && size < wantedPipe)
    found.push({ id: 'engine.pipe_size', message: `fs.pipe-max-size is ${size}` })
  const pages = numberIn(host, '/proc/sys/fs/pipe-user-pages-soft')
  if (pages !== null && pages !== 0 && pages < wantedPages)
    // 0: no limit
    found.push({
      id: 'engine.pipe_pages',
      message: `fs.pipe-user-pages-soft is ${pages}, enough for ${Math.floor((pages * pageBytes) / wantedPipe)} stalled transfers`
    })
  return found
}
