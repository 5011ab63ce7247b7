// Where segments are kept: one contract for a directory and a bucket. The bucket is a scripted one that refuses what is not
// signed as AWS documents it; the signature itself is checked against AWS' own example. Where Versity's gateway is on the PATH
// (`go install github.com/versity/versitygw/cmd/versitygw@v1.8.0`) it is a real one as well.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type BlobStore, blobName, openBlobs } from '../src/fleet/blobs.ts'
import { signed } from '../src/fleet/s3.ts'
import { Bucket, KEYS } from './setup/bucket.ts'
import { freePort } from './setup/postgres.ts'
import { isHere } from './setup/programs.ts'
import { temporary } from './setup/temporary.ts'

it('requests are signed as in the example AWS gives', () => {
  // https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html, "GET Object"
  const headers = signed(
    { region: 'us-east-1', ...KEYS },
    {
      method: 'GET',
      url: new URL('https://examplebucket.s3.amazonaws.com/test.txt'),
      headers: { range: 'bytes=0-9' },
      body: undefined,
    },
    new Date('2013-05-24T00:00:00Z'),
  )
  expect(headers['authorization']).toBe(
    'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, ' +
      'SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, ' +
      'Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  )
})

const bucket = new Bucket()
beforeAll(() => bucket.up())
afterAll(() => bucket.kill())

const HAS_GATEWAY = isHere('versitygw')
let gateway: ChildProcess | undefined
let gatewayPort = 0

beforeAll(async () => {
  if (!HAS_GATEWAY) return
  gatewayPort = await freePort()
  // A bucket is a directory in it.
  const directory = temporary('gateway')
  mkdirSync(join(directory, 'segments'))
  gateway = spawn(
    'versitygw',
    ['--port', `127.0.0.1:${gatewayPort}`, 'posix', '--sidecar', temporary('sidecar'), directory],
    {
      env: { PATH: process.env['PATH'], ROOT_ACCESS_KEY: KEYS.keyId, ROOT_SECRET_KEY: KEYS.secret },
      stdio: 'ignore',
    },
  )
  while (!(await fetch(`http://127.0.0.1:${gatewayPort}/`).catch(() => undefined)))
    await new Promise((done) => setTimeout(done, 50))
})
afterAll(() => void gateway?.kill('SIGKILL'))

const inGateway = (more: Record<string, string> = {}, bucketName = 'segments'): BlobStore =>
  openBlobs(`s3://${bucketName}/team/one/`, {
    AWS_ACCESS_KEY_ID: KEYS.keyId,
    AWS_SECRET_ACCESS_KEY: KEYS.secret,
    AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${gatewayPort}`,
    ...more,
  })

const stores: Record<string, () => BlobStore> = {
  ...(HAS_GATEWAY ? { "a bucket of Versity's gateway": () => inGateway() } : {}),
  'a directory': () => openBlobs(`dir:${temporary('blobs')}`, {}),
  'a bucket': () => openBlobs('s3://segments/team/one/', bucket.env),
}

describe.each(Object.keys(stores))('%s', (which) => {
  it('keeps what was put first, gives it back, lists it and lets it go', async () => {
    const store = (stores[which] as () => BlobStore)()
    const names = ['a', 'b', 'c'].map((letter) => blobName('shop', letter.repeat(64)))
    for (const name of names) expect(await store.put(name, Buffer.from(name))).toBe(true)
    expect(await store.put(names[0] as string, Buffer.from('other'))).toBe(false)
    expect((await store.get(names[0] as string))?.toString()).toBe(names[0])
    const listed: string[] = []
    for await (const { name, putAt } of store.list()) {
      expect(putAt).toBeGreaterThan(0)
      listed.push(name)
    }
    expect(listed.sort()).toEqual(names.sort())
    await store.remove(names[0] as string)
    await store.remove(names[0] as string)
    expect([await store.has(names[0] as string), await store.get(names[0] as string)]).toEqual([
      false,
      undefined,
    ])
    expect(await store.has(names[1] as string)).toBe(true)
  })
})

describe.skipIf(!HAS_GATEWAY)("Versity's gateway", () => {
  it('takes one of many that put the same at once', async () => {
    const name = blobName('shop', 'e'.repeat(64))
    const puts = await Promise.all(
      Array.from({ length: 8 }, () => inGateway().put(name, Buffer.alloc(400_000, 1))),
    )
    expect(puts.filter(Boolean)).toHaveLength(1)
    expect(await inGateway().get(name)).toEqual(Buffer.alloc(400_000, 1))
  })

  it('refuses a wrong key and a bucket that is not there, and both are told', async () => {
    const name = blobName('shop', 'f'.repeat(64))
    const refused = expect.objectContaining({ code: 'REFUSED', hint: expect.stringContaining('key') })
    await expect(inGateway({ AWS_SECRET_ACCESS_KEY: 'wrong' }).put(name, Buffer.from('x'))).rejects.toEqual(
      refused,
    )
    await expect(inGateway({}, 'nowhere').put(name, Buffer.from('x'))).rejects.toMatchObject({
      code: 'REFUSED',
    })
  })
})

it('a name is made of a hash and nothing else', () => {
  for (const wrong of ['', '../x', 'A'.repeat(64), `${'a'.repeat(64)}/..`, `${'a'.repeat(64)}\n`])
    expect(() => blobName('shop', wrong)).toThrow(/SHA-256/)
  expect(blobName('../../etc', 'a'.repeat(64))).toMatch(/^[0-9a-f]{16}\/aa\/a{64}$/)
  for (const wrong of ['', 'dir:here', 's3://', 's3://UPPER', 'ftp://x'])
    expect(() => openBlobs(wrong, {})).toThrow()
})
