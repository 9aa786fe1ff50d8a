// Pages that are rendered while they are read, and the resources that slow readers can hold.
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import type { Metric, MetricSample } from '../../../kernel/metrics.ts'
import { fakeClock } from '../../../kit/fake-clock.ts'
import { recordLog } from '../../../kit/test-server.ts'
import { readExposition } from '../../../test/support/exposition.ts'
import { openListener } from '../listener.ts'
import { openScrape } from '../scrape.ts'

const many = 100_000 // lines of 220 bytes: more than sockets hold
const linesAhead = 20_000 // of chunks that wait: in the page and before it

/** A plugin with a metric of many samples. Counts how often it was asked, and the samples that were made. */
function manySamples() {
  const made = { collections: 0, samples: 0 }
  const samples: Iterable<MetricSample> = {
    *[Symbol.iterator]() {
      for (let at = 0; at < many; at++) {
        made.samples++
        yield { labelValues: [`rule ${at}`.padEnd(200)], value: at }
      }
    }
  }
  const value = async (): Promise<readonly Metric[]> => {
    made.collections++
    return [{ name: 'svc_many', type: 'gauge', help: 'Many.', labels: ['rule'], samples }]
  }
  return { made, plugin: { by: 'x', value } }
}

function open() {
  const { made, plugin } = manySamples()
  const clock = fakeClock()
  return { made, clock, scrape: openScrape({ metrics: () => [plugin], clock, log: recordLog([]) }) }
}

const seriesIn = (page: string) => readExposition(page).get('svc_many')?.series.size
const failed = async (page: Readable): Promise<string> => String((await once(page, 'error'))[0])

t.test('concurrent scrapes share one collection, and each reads a complete page', async t => {
  const { made, scrape } = open()

  const pages = await Promise.all([scrape(), scrape(), scrape()])
  const read = await Promise.all(pages.map(text))

  t.equal(made.collections, 1)
  t.same(read.map(seriesIn), [many, many, many])
  await text(await scrape())
  t.equal(made.collections, 2)
})

t.test('one-shot samples appear in each page', async t => {
  const value = async (): Promise<readonly Metric[]> => [
    {
      name: 'svc_many',
      type: 'gauge',
      help: 'Many.',
      labels: [],
      samples: [1].values().map(value => ({ labelValues: [], value }))
    }
  ]
  const scrape = openScrape({
    metrics: () => [{ by: 'x', value }],
    clock: fakeClock(),
    log: recordLog([])
  })

  const read = await Promise.all((await Promise.all([scrape(), scrape()])).map(text))

  t.same(read.map(seriesIn), [1, 1])
})

t.test('a page is rendered as it is read, so unread parts use no memory', async t => {
  const { made, scrape } = open()
  const page = await scrape()
  t.equal(made.samples, 0)

  await once(page, 'readable')
  page.read()
  await new Promise(setImmediate)

  t.ok(made.samples <= linesAhead, `${made.samples} samples`)
  page.destroy()
})

t.test('a page is closed if it is not read within a minute', async t => {
  const { clock, scrape } = open()
  const page = await scrape()
  const failure = failed(page)

  await clock.advance(60_000)

  t.match(await failure, 'the page was not read within 60 s')
})

t.test('the oldest of five unread pages is closed', async t => {
  const { scrape } = open()
  const oldest = await scrape()
  const failure = failed(oldest)
  const others: Readable[] = []
  for (let at = 0; at < 3; at++) others.push(await scrape())
  t.notOk(oldest.destroyed)

  others.push(await scrape())

  t.match(await failure, '4 newer pages are being read')
  t.notOk(others.some(({ destroyed }) => destroyed))
  for (const page of others) page.destroy()
})

async function startListener(t: Test) {
  const { made, clock, scrape } = open()
  const { port, close } = await openListener({
    clock,
    log: recordLog([]),
    listen: '127.0.0.1:0',
    isKnownHost: () => true,
    scrape
  })
  t.teardown(close)
  const begin = async (): Promise<IncomingMessage> => {
    const request = get({ host: '127.0.0.1', port, path: '/metrics', agent: false })
    request.on('error', () => {}) // the test ends it
    const [reply] = (await once(request, 'response')) as [IncomingMessage]
    return reply
  }
  return { made, begin }
}

t.test('a scraper that disconnects midway ends only its own page', async t => {
  const { made, begin } = await startListener(t)
  const [leaving, staying] = [await begin(), await begin()]
  await once(leaving, 'readable')

  leaving.destroy()
  const page = await text(staying)

  t.equal(seriesIn(page), many)
  t.ok(made.samples < 2 * many, `${made.samples} samples`)
})

t.test('a scraper that stops reading is sent no more', async t => {
  const { made, begin } = await startListener(t)
  const slow = await begin()
  slow.pause()
  const other = await text(await begin())

  t.equal(seriesIn(other), many)
  t.ok(made.samples < 2 * many, `${made.samples} samples`)
  slow.destroy()
})
