import { Anchor } from '@mantine/core'
import { Link } from 'wouter'
import { Empty } from '../parts/Empty.tsx'
import { Head } from '../parts/Head.tsx'
import { text } from '../text/text.ts'

export const NotFound = () => (
  <>
    <Head title={text.notFound} />
    <Empty what={text.notFound}>
      <Anchor component={Link} href="/">
        {text.toOverview}
      </Anchor>
    </Empty>
  </>
)
