// The reference of plugins, in Markdown: what their schemas and manifests say, and nothing that somebody wrote down beside them.
import { ownVersion } from '../../../kernel/base/version.ts'
import { kernelCodes } from '../../../kernel/check.ts'
import type { Plugin } from '../../../kernel/plugin.ts'
import { serverKeys } from '../../../kernel/settings.ts'
import type { Loaded, Picked } from '../catalogue.ts'
import { type Described, describe } from '../described.ts'
import { commandsOf } from './commands.ts'
import { type Chapter, codes, pageOf } from './markdown.ts'
import { openPreview, type Preview } from './preview.ts'
import { routesOf } from './routes.ts'
import {
  codesTable,
  keysTable,
  messagesText,
  metricsText,
  ruleFieldsText,
  sectionText,
  slotsText,
  tablesText,
  topOf
} from './sections.ts'

/** Of the one that was picked, or of all that are loaded and the kernel. */
export async function referenceOf(loaded: Loaded | Picked): Promise<string> {
  const still = await openPreview(loaded.servers)
  const chapters = still.plugins
    .filter(({ name }) => !('name' in loaded) || name === loaded.name)
    .map(plugin => chapter(plugin, still, loaded))
  const [one] = chapters
  const whole = { title: `sluice ${ownVersion()}`, text: '', parts: [kernel, ...chapters] }
  const { text, ...rest } = 'name' in loaded && one ? one : whole
  return `${pageOf({ ...rest, text: text === '' ? made : `${made}\n\n${text}` })}\n`
}

const made =
  'Made by `sluice plugin reference` from the schemas that validate, and from manifests. Every list of the API also takes `limit` ' +
  'and `cursor`; every command `--help`, `--config FILE` and `--output table|json`.'

const kernel: Chapter = {
  title: 'The kernel',
  text: '',
  parts: [
    { title: 'Settings', text: keysTable(serverKeys) },
    { title: 'Error codes', text: codesTable(kernelCodes) }
  ]
}

function chapter(plugin: Plugin, still: Preview, { agents, fromOf }: Loaded): Chapter {
  const agent = agents.find(({ name }) => name === plugin.name) ?? null
  const described = describe({ server: plugin, agent }, fromOf(plugin.name))
  const { name, version, keys, codes: rows = [] } = plugin
  return {
    title: `${name} ${version}`,
    text: aboutOf(described),
    parts: [
      { title: 'Settings', text: sectionText(described, plugin), parts: [topOf(keys)] },
      { title: 'Rule fields', text: ruleFieldsText(plugin, still) },
      { title: 'Routes', text: '', parts: routesOf(plugin, still) },
      { title: 'Commands', text: '', parts: commandsOf(plugin, still) },
      { title: 'Tables', text: tablesText(plugin, still) },
      { title: 'Metrics', text: metricsText(plugin, still) },
      { title: 'Slots', text: slotsText(described) },
      { title: 'Messages', text: messagesText(plugin) },
      { title: 'Error codes', text: codesTable(rows) }
    ]
  }
}

function aboutOf({ from, contracts, needs, capabilities, may }: Described): string {
  const pairs = (of: Readonly<Record<string, string>>) =>
    codes(Object.entries(of).map(([key, value]) => `${key} ${value}`))
  return [
    ['From', from],
    ['Written for', pairs(contracts)],
    ['Needs', pairs(needs)],
    ['Capabilities of its agents', pairs(capabilities)],
    ['May', may.join(', ')]
  ]
    .filter(([, value]) => value !== '')
    .map(([what, value]) => `- ${what}: ${value}`)
    .join('\n')
}
