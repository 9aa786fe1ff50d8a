// The process that runs, and what the system lets it use.
import { ownVersion } from '../../../kernel/base/version.ts'
import { type DoctorContext, defineCheck, type Finding, type Sample } from '../exports.ts'
import { numberIn } from '../host.ts'

const wantedDescriptors = 65_536

/** Returns the value of the process that runs; undefined where none serves its metrics. */
const sampleOf = (samples: readonly Sample[] | null, name: string): number | undefined =>
  samples?.find(sample => sample.name === name)?.value

export const descriptors = defineCheck({
  name: 'descriptors',
  of: ['server', 'agent'],
  findings: {
    'descriptors.low': {
      status: 'warn',
      when: 'less than 65,536 files may be open: each agent and each connection takes one or two',
      remedy: `raise it to ${wantedDescriptors} or more: ulimit -n, or LimitNOFILE= of the unit`
    },
    'descriptors.near': {
      status: 'warn',
      when: 'four fifths of the files that may be open are open',
      remedy: 'raise LimitNOFILE= of the unit, and restart it'
    }
  },
  async run({ host, metrics }) {
    const samples = await metrics()
    const running = sampleOf(samples, 'process_max_fds')
    const limits = host.read('/proc/self/limits')
    const own = Number(/^Max open files\s+(\d+)/m.exec(limits ?? '')?.[1] ?? Number.POSITIVE_INFINITY)
    const [limit, where] =
      running === undefined || running <= 0 ? [own, 'in this shell'] : [running, 'in the running process']
    const open = sampleOf(samples, 'process_open_fds') ?? 0
    const message = `${limit === Number.POSITIVE_INFINITY ? 'no limit' : limit} ${where}`
    if (open > limit * 0.8) return [{ id: 'descriptors.near', message: `${open} of ${message} are open` }]
    return limit < wantedDescriptors ? [{ id: 'descriptors.low', message }] : [{ ok: message }]
  }
})

const mib = 2 ** 20

export const memory = defineCheck({
  name: 'memory',
  of: ['server', 'agent'],
  findings: {
    'memory.limit': {
      status: 'warn',
      when: 'the memory limit of the control group is below 192 MiB',
      remedy: 'raise MemoryMax= of the unit, or the limit of the container'
    },
    'memory.low': {
      status: 'warn',
      when: 'less than 5 % of the memory of this host are available',
      remedy: 'end what is not needed, or add memory: the system ends processes when none is left'
    },
    'memory.swap': {
      status: 'warn',
      when: 'more than half of the swap space is in use: the heartbeats of a swapped process come late',
      remedy: 'add memory, or give the unit MemorySwapMax=0'
    }
  },
  async run({ host }) {
    const found: Finding<'memory.limit' | 'memory.low' | 'memory.swap'>[] = []
    const limit = groupLimit({ host })
    if (limit !== null && limit < 192 * mib)
      found.push({ id: 'memory.limit', message: `the limit is ${Math.floor(limit / mib)} MiB` })
    const text = host.read('/proc/meminfo') ?? ''
    const [total, available, swap, swapFree] = ['MemTotal', 'MemAvailable', 'SwapTotal', 'SwapFree'].map(
      name => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? Number.NaN) // KiB
    ) as [number, number, number, number]
    if (available < total * 0.05)
      found.push({ id: 'memory.low', message: `${Math.floor(available / 1024)} MiB are available` })
    if (swap > 0 && swapFree < swap / 2)
      found.push({
        id: 'memory.swap',
        message: `${Math.floor((swap - swapFree) / 1024)} MiB are swapped out`
      })
    return found.length > 0 ? found : [{ ok: 'enough' }]
  }
})

/** The limit of the control group (version 2) of this process, or of one above it. */
function groupLimit({ host }: Pick<DoctorContext, 'host'>): number | null {
  const [, group = ''] = /^0::(\/\S*)$/m.exec(host.read('/proc/self/cgroup') ?? '') ?? []
  const parts = group.split('/').filter(part => part !== '')
  const paths = parts.map((_, at) => `/sys/fs/cgroup/${parts.slice(0, at + 1).join('/')}/memory.max`)
  const limits = ['/sys/fs/cgroup/memory.max', ...paths].flatMap(path => numberIn(host, path) ?? [])
  return limits.length === 0 ? null : Math.min(...limits)
}

export const settings = defineCheck({
  name: 'settings',
  of: ['server', 'agent'],
  findings: {
    'settings.debug': {
      status: 'warn',
      when: 'log_level is debug: it costs time and disk, and logs addresses of all callers of the API',
      remedy: 'set log_level = "info", then systemctl reload'
    },
    'settings.old_process': {
      status: 'warn',
      when: 'the running process is of another version than this program',
      remedy: 'restart it: systemctl restart sluice-server, or sluice-agent'
    },
    'settings.unscrapeable': {
      status: 'warn',
      when: 'metrics_listen takes any free port: no Prometheus finds it after a restart',
      remedy: 'give metrics_listen a port, such as 127.0.0.1:7081'
    }
  },
  async run({ role, keys, metrics }) {
    const found: Finding<'settings.debug' | 'settings.old_process' | 'settings.unscrapeable'>[] = []
    if (keys['log_level'] === 'debug') found.push({ id: 'settings.debug', message: 'log_level is debug' })
    if (String(keys['metrics_listen']).endsWith(':0'))
      found.push({ id: 'settings.unscrapeable', message: `metrics_listen is ${keys['metrics_listen']}` })
    const name = role === 'server' ? 'svc_build_info' : 'svc_agent_build_info'
    const running = (await metrics())?.find(sample => sample.name === name)?.labels['version']
    if (running !== undefined && running !== ownVersion())
      found.push({
        id: 'settings.old_process',
        message: `the ${role} that runs is ${running}, this is ${ownVersion()}`
      })
    return found.length > 0 ? found : [{ ok: `${running === undefined ? '' : `${running} runs; `}in order` }]
  }
})
