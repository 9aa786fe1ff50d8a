// Reference pages, generated from the program: schemas, manifests, the index of commands, metrics.
import { agentKeys } from '../../../agent/config.ts'
import { serverKeys } from '../../../kernel/settings.ts'
import { commandChapter } from '../../../plugins/extensions/reference/commands.ts'
import {
  type Chapter,
  code,
  codes,
  formatChapter,
  table
} from '../../../plugins/extensions/reference/markdown.ts'
import { openPreview, type Preview } from '../../../plugins/extensions/reference/preview.ts'
import { routesOf } from '../../../plugins/extensions/reference/routes.ts'
import { keysTable, sectionText } from '../../../plugins/extensions/reference/sections.ts'
import { agentPlugins } from '../../agent-plugins.ts'
import { index } from '../../command-index.ts'
import { plugins as builtin } from '../../plugins.ts'
import { agentMetrics, serverMetrics } from './metrics.ts'
import type { Page } from './page.ts'

export async function referencePages(): Promise<readonly Page[]> {
  const plugins = await Promise.all(Object.values(builtin).map(async load => (await load()).default))
  const preview = await openPreview(plugins)
  return [
    page('api', 'Operator API', apiChapter(preview)),
    page('commands', 'Commands', commandsChapter()),
    page('configuration', 'Configuration', await configurationChapter(preview)),
    page('metrics', 'Metrics', await metricsChapter())
  ]
}

const page = (name: string, title: string, chapter: Chapter): Page => ({
  path: `reference/${name}.html`,
  title,
  group: 'Reference',
  source: null,
  hasRows: true,
  text: formatChapter(chapter)
})

const apiChapter = ({ plugins, document }: Preview): Chapter => ({
  title: 'Operator API',
  text: 'Each operation, with its parameters, bodies and error codes. A server publishes the same for programs at `/v1/openapi.json`. Lists also take `limit`, `cursor` and `sort`; the `Link` header has the next page.',
  parts: plugins.map(plugin => ({
    title: plugin.name,
    text: '',
    parts: routesOf(plugin, document).map(({ text, ...rest }) => ({ ...rest, text: withErrorLinks(text) }))
  }))
})

/** Links the codes of an error to their explanations. */
const withErrorLinks = (text: string): string =>
  text.replaceAll(/`([a-z]\w*(?:\.\w+)*)`/g, (cell, name: string) =>
    isCode(name) ? `[${cell}](../errors.html#${name})` : cell
  )

const isCode = (name: string): boolean => Object.hasOwn(index.exits, name)

const commandsChapter = (): Chapter => ({
  title: 'Commands',
  text: 'Every command also has `--help` and `--output table|json`. The exit codes are on the first page.',
  parts: index.commands.map(({ name, summary, args, positional, aliases = [], examples = [] }) => {
    const chapter = commandChapter({ name, summary, ...(positional && { positional }) }, args.properties, '')
    const also = aliases.length > 0 ? `Also: ${codes(aliases)}.` : ''
    const shown = examples.length > 0 ? `\`\`\`sh\n${examples.join('\n')}\n\`\`\`` : ''
    const title = `sluice ${name}`
    const usage = chapter.title
    return { title, text: [usage, chapter.text, also, shown].filter(text => text !== '').join('\n\n') }
  })
})

async function configurationChapter({ plugins }: Preview): Promise<Chapter> {
  const described = (name: string) => ({ name, from: 'built in' }) as Parameters<typeof sectionText>[0] // the only members that are read
  const agents = await Promise.all(Object.values(agentPlugins).map(async load => (await load()).default))
  return {
    title: 'Configuration',
    text: 'Flags override environment variables, which override the TOML file.',
    parts: [
      { title: 'Server', text: keysTable(serverKeys) },
      ...plugins.map(plugin => ({
        title: `Server: ${plugin.name}`,
        text: [plugin.keys ? keysTable(plugin.keys) : '', sectionText(described(plugin.name), plugin)]
          .filter(text => text !== '')
          .join('\n\n')
      })),
      { title: 'Agent', text: keysTable(agentKeys) },
      ...agents.map(agent => ({
        title: `Agent: ${agent.name}`,
        text: sectionText(described(agent.name), agent, " of the agent's configuration")
      }))
    ]
  }
}

async function metricsChapter(): Promise<Chapter> {
  const rows = (all: Awaited<ReturnType<typeof serverMetrics>>): string =>
    table(
      ['Metric', 'Type', 'Labels', 'Meaning'],
      all.map(({ name, type, labels, help }) => [code(name), type, codes(labels), help])
    )
  return {
    title: 'Metrics',
    text: 'In the text format of Prometheus, at `metrics_listen`. Server and agent also export `process_*` and `nodejs_*`.',
    parts: [
      { title: 'Server', text: rows(await serverMetrics()) },
      { title: 'Agent', text: rows(await agentMetrics()) }
    ]
  }
}
