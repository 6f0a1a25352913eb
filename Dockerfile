# syntax=docker/dockerfile:1
# One image for the server, its workers and activities: the `detent` command with the built packages, and nothing else. A project of
# your own is a layer on top of it:
#
#     FROM detent
#     COPY detent.config.ts ./
#     COPY src ./src
#
# RUN uses paths relative to its WORKDIR only, so that `npm run soak -- container` builds the stages as plain commands in a folder.

FROM node:24-slim AS build
WORKDIR /source
COPY . .
# The lock has the native parts of the platform it was made on; `npm install` adds those of this one, which `npm ci` refuses.
RUN npm install --ignore-scripts --no-audit --no-fund --loglevel=error
RUN node packages/console/build.mjs
RUN node scripts/pack.mjs --output built

FROM node:24-slim AS install
WORKDIR /image/app
COPY --from=build /source/built vendor/
COPY infra/container/package.json infra/container/detent.config.js ./
RUN npm install --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error ./vendor/*.tgz
RUN mkdir ../data

FROM node:24-slim
WORKDIR /app
COPY --from=install /image/app /app
COPY --from=install --chown=node:node /image/data /data
# The root file system may be read-only: everything that is written goes to /data and /tmp.
ENV NODE_ENV=production \
    PATH=/app/node_modules/.bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    DETENT_DATA=/data \
    XDG_STATE_HOME=/tmp/state
VOLUME ["/data"]
USER node
EXPOSE 4400
STOPSIGNAL SIGTERM
# Of the server. A worker has no port: turn the check off there.
HEALTHCHECK --interval=10s --timeout=6s --start-period=60s --retries=3 CMD ["node", "-e", "fetch('http://127.0.0.1:4400/health/ready').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["detent"]
CMD ["serve", "--host=0.0.0.0", "--port=4400"]
