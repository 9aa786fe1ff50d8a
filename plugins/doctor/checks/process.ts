// The running process: limits, memory and settings.
import { ownVersion } from '../../../kernel/platform/version.ts'
import { type DoctorContext, defineCheck, type Finding, type Sample } from '../../cli/check-exports.ts'
import { numberIn } from '../host.ts'

const wantedDescriptors = 65_536

/** Returns the metric's value, or undefined if the process does not serve it. */
const findSample = (samples: readonly Sample[] | null, name: string): number | undefined =>
  samples?.find(sample => sample.name === name)?.value

export const descriptors = defineCheck({
  name: 'descriptors',
  roles: ['server', 'agent'],
  findings: {
    'descriptors.low': {
      status: 'warn',
      when: 'fewer than 65,536 files can be open; each agent and each connection needs one or two',
      remedy: `raise it to ${wantedDescriptors} or more: ulimit -n, or LimitNOFILE= of the unit`
    },
    'descriptors.near': {
      status: 'warn',
      when: 'more than 80 % of the allowed files are open',
      remedy: 'raise LimitNOFILE= of the unit, and restart it'
    }
  },
  async run({ host, metrics }) {
    const samples = await metrics()
    const running = findSample(samples, 'process_max_fds')
    const limits = host.read('/proc/self/limits')
    const own = Number(/^Max open files\s+(\d+)/m.exec(limits ?? '')?.[1] ?? Number.POSITIVE_INFINITY)
    const [limit, where] =
      running === undefined || running <= 0 ? [own, 'in this shell'] : [running, 'in the running process']
    const open = findSample(samples, 'process_open_fds') ?? 0
    const message = `${limit === Number.POSITIVE_INFINITY ? 'no limit' : limit} ${where}`
    if (open > limit * 0.8) return [{ id: 'descriptors.near', message: `${open} of ${message} are open` }]
    return limit < wantedDescriptors ? [{ id: 'descriptors.low', message }] : [{ ok: message }]
  }
})

const mib = 2 ** 20

export const memory = defineCheck({
  name: 'memory',
  roles: ['server', 'agent'],
  findings: {
    'memory.limit': {
      status: 'warn',
      when: 'the memory limit of the control group is below 192 MiB',
      remedy: 'raise MemoryMax= of the unit, or the limit of the container'
    },
    'memory.low': {
      status: 'warn',
      when: 'less than 5 % of the memory of this host is available',
      remedy: 'stop programs or add memory: when none is left, the system kills processes'
    },
    'memory.swap': {
      status: 'warn',
      when: 'more than half of the swap space is in use, which delays the heartbeats of a swapped process',
      remedy: 'add memory, or set MemorySwapMax=0 in the unit'
    }
  },
  async run({ host }) {
    const found: Finding<'memory.limit' | 'memory.low' | 'memory.swap'>[] = []
    const limit = groupLimit({ host })
    if (limit !== null && limit < 192 * mib)
      found.push({ id: 'memory.limit', message: `the limit is ${Math.floor(limit / mib)} MiB` })
    const text = host.read('/proc/meminfo') ?? ''
    const kibOf = (name: string): number =>
      Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? Number.NaN)
    const available = kibOf('MemAvailable')
    const swap = kibOf('SwapTotal')
    const swapFree = kibOf('SwapFree')
    if (available < kibOf('MemTotal') * 0.05)
      found.push({ id: 'memory.low', message: `${Math.floor(available / 1024)} MiB available` })
    if (swap > 0 && swapFree < swap / 2)
      found.push({
        id: 'memory.swap',
        message: `${Math.floor((swap - swapFree) / 1024)} MiB swapped out`
      })
    return found.length > 0 ? found : [{ ok: 'enough' }]
  }
})

/** Returns the lowest memory limit of this process's control group (version 2) and its parents, or null. */
function groupLimit({ host }: Pick<DoctorContext, 'host'>): number | null {
  const [, group = ''] = /^0::(\/\S*)$/m.exec(host.read('/proc/self/cgroup') ?? '') ?? []
  const parts = group.split('/').filter(part => part !== '')
  const paths = parts.map((_, at) => `/sys/fs/cgroup/${parts.slice(0, at + 1).join('/')}/memory.max`)
  const limits = ['/sys/fs/cgroup/memory.max', ...paths].flatMap(path => numberIn(host, path) ?? [])
  return limits.length === 0 ? null : Math.min(...limits)
}

export const settings = defineCheck({
  name: 'settings',
  roles: ['server', 'agent'],
  findings: {
    'settings.debug': {
      status: 'warn',
      when: 'log_level is debug, which costs time and disk space and logs the source address of every API request',
      remedy: 'set log_level = "info", then systemctl reload'
    },
    'settings.old_process': {
      status: 'warn',
      when: 'the running process has another version than this program',
      remedy: 'restart it: systemctl restart sluice-server or sluice-agent'
    },
    'settings.unscrapeable': {
      status: 'warn',
      when: 'metrics_listen takes any free port, so Prometheus cannot find it after a restart',
      remedy: 'set a port, such as metrics_listen = "127.0.0.1:7081"'
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
        message: `the running ${role} is ${running}, this program is ${ownVersion()}`
      })
    return found.length > 0
      ? found
      : [{ ok: `${running === undefined ? '' : `${running} runs; `}no problem` }]
  }
})
